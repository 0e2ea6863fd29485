import { beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { healthWrites } from '../../../functions/deliver/health.ts';
import { MAX_INVOCATION_MS } from '../../../shared/domain/retry/attempt-duration.ts';
import { asEnabled } from '../../../shared/domain/subscription/change.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import {
  oneSubscriberWorld,
  numbered,
  type OneSubscriberWorld,
} from '../../support/in-memory/one-subscriber-world.ts';
import { type ScriptedReply, status } from '../../support/in-memory/scripted-subscriber.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const fault = new Error('DynamoDB is down');
let world: OneSubscriberWorld;

beforeEach(() => {
  world = oneSubscriberWorld();
});

/** Without retries. */
const subscribe = (more: Partial<Subscription> = {}): Promise<void> => world.subscribe({}, more);

/** Cached reads of the subscription stay as they are now. */
const freezeCache = async () => {
  const cached = await world.subscriptions.find('orders', 'subscription-1', 'fresh');
  const find = world.subscriptions.find.bind(world.subscriptions);
  return vi
    .spyOn(world.subscriptions, 'find')
    .mockImplementation((queue, id, freshness) =>
      freshness === 'cached' ? Promise.resolve(cached) : find(queue, id, freshness),
    );
};

const unrecorded = () => world.facts('health_not_recorded');

describe('a subscription', () => {
  /** Kinds of the changes that were requested. */
  const changes = () => change.mock.calls.map(([, , { kind }]) => kind);
  let change: MockInstance<OneSubscriberWorld['subscriptions']['changeHealth']>;

  beforeEach(() => {
    change = vi.spyOn(world.subscriptions, 'changeHealth');
  });

  it.each([status(400), { kind: 'forbidden' }, { kind: 'unanswered', error: 'timeout' }] as const)(
    'fails by any result other than a success: %j',
    async (reply) => {
      await subscribe();
      await world.answer(reply);
      expect((await world.subscription()).failing).toMatchObject({ failures: 1 });
    },
  );

  it('is reported failing after twenty failures and recovered after one success, without further writes', async () => {
    await subscribe();
    const since = world.clock.now();
    await world.answer();
    await world.runFor(2 * MINUTE);
    for (let count = 0; count < 30; count += 1) await world.answer();
    expect((await world.subscription()).failing).toMatchObject({ since, failures: 20 });
    expect(changes()).toEqual(['begin', ...Array<string>(19).fill('count'), 'sent']);

    const at = world.clock.now();
    await world.answer(status(200));
    expect(await world.subscription()).not.toHaveProperty('failing');
    expect(await world.subscription()).not.toHaveProperty('unsent');
    expect(world.operatorEvents.published.filter(({ type }) => type !== 'delivery.exhausted')).toEqual([
      { type: 'subscription.failing', ...world.name, since, failures: 20 },
      { type: 'subscription.recovered', ...world.name, since, at },
    ]);
  });

  it('that succeeded since is not disabled by an attempt with a stale cache', async () => {
    await subscribe({ failing: world.failing(6 * DAY, 30) });
    await freezeCache();
    await world.answer(status(200));
    await world.answer();
    expect(await world.subscription()).not.toHaveProperty('disabled');
    expect(world.events()).toEqual(['subscription.recovered']);
  });

  it('that was disabled manually during the attempt is not written', async () => {
    await subscribe({ failing: world.failing(6 * DAY, 30) });
    const disabled = { reason: 'manual', at: 1 } as const;
    world.subscriber.onRequest = async () => {
      await world.subscriptions.disable('orders', 'subscription-1', disabled);
    };
    await world.answer();
    expect((await world.subscription()).disabled).toEqual(disabled);
    expect(changes()).toEqual([]);
  });

  it('that is enabled during a request is not marked as failing', async () => {
    await subscribe();
    world.subscriber.onRequest = async () => {
      await world.change((current) => asEnabled(current, world.clock.now()));
    };
    await world.answer();
    expect(await world.subscription()).not.toHaveProperty('failing');
    expect(changes()).toEqual(['begin']);
  });

  it('stays marked after a success with a stale cache, until the next success', async () => {
    await subscribe();
    const cache = await freezeCache();
    await world.answer();
    await world.answer(status(200));
    expect((await world.subscription()).failing).toMatchObject({ failures: 1 });
    cache.mockRestore();
    await world.answer(status(200));
    expect(await world.subscription()).not.toHaveProperty('failing');
  });

  it('is updated at each immediate retry, from a new read', async () => {
    await world.subscribe({ retries_with_no_delay: 3 }, { failing: world.failing(DAY, 5) });
    await world.answer();
    expect((await world.subscription()).failing).toMatchObject({ failures: 9 });
  });

  it('is updated also by a late result', async () => {
    await subscribe({ failing: world.failing(DAY, 5) });
    const write = world.deliveries.write.bind(world.deliveries);
    world.deliveries.write = async (transition) =>
      transition.name === 'record'
        ? { kind: 'refused', current: await world.deliveries.find(transition.key) }
        : write(transition);
    await world.answer(status(200));
    expect(await world.subscription()).not.toHaveProperty('failing');
  });
});

describe('concurrent deliveries to one subscription', () => {
  /** Writes as another function instance, which is not recorded in `requested`. */
  let changeHealth: OneSubscriberWorld['subscriptions']['changeHealth'];
  let requested: string[];

  beforeEach(() => {
    requested = [];
    changeHealth = world.subscriptions.changeHealth.bind(world.subscriptions);
    world.subscriptions.changeHealth = async (queue, id, wanted) => {
      const result = await changeHealth(queue, id, wanted);
      await world.clock.sleep(5);
      requested.push(`${wanted.kind} ${result.kind}`);
      return result;
    };
  });

  /** Ten deliveries that read the same subscription and whose responses arrive a millisecond apart. */
  const answerTogether = async (reply: ScriptedReply): Promise<void> => {
    world.subscriber.script(world.url, [reply]);
    world.subscriber.onRequest = (_, request) => world.clock.sleep(100 + request);
    await world.deliver(...numbered(10));
  };

  it.each([
    ['start a failing period when they fail', [], 500, [['begin'], [], 1]],
    ['count as one failure when they fail', [DAY, 5], 500, [['count'], [], 6]],
    ['end a failing period when they succeed', [DAY, 5], 200, [['recover'], [], undefined]],
    ['publish one event when they succeed', [DAY, 20], 200, [['recover', 'sent'], ['recovered'], undefined]],
    ['disable it when they fail for too long', [6 * DAY, 30], 500, [['disable', 'sent'], ['disabled'], 30]],
  ] as const)('%s, by one write for all', async (_, failing, code, [writes, events, failures]) => {
    const [ago, before = 0] = failing;
    await subscribe(ago === undefined ? {} : { failing: world.failing(ago, before) });
    await answerTogether(status(code));
    expect(requested).toEqual(writes.map((kind) => `${kind} written`));
    expect(world.events()).toEqual(events.map((type) => `subscription.${type}`));
    expect((await world.subscription()).failing?.failures).toBe(failures);
  });

  it.each([
    ['make one attempt at a change that another instance has already made', 5],
    ['do not send the event that another instance is just sending', 20],
  ])('%s', async (_, failures) => {
    const failing = world.failing(DAY, failures);
    await subscribe({ failing });
    await freezeCache();
    const recovery = { kind: 'recover', since: failing.since } as const;
    const at = world.clock.now();
    const event = { type: 'subscription.recovered', since: failing.since, at } as const;
    await changeHealth(
      'orders',
      'subscription-1',
      failures < 20 ? recovery : { ...recovery, unsent: { event, at } },
    );
    await answerTogether(status(200));
    expect(world.events()).toEqual([]);
    expect(requested).toEqual(['recover refused']);
  });

  it('repeat an update that failed', async () => {
    await subscribe({ failing: world.failing(DAY, 5) });
    vi.spyOn(world.subscriptions, 'changeHealth').mockRejectedValueOnce(fault);
    await answerTogether(status(200));
    expect(requested).toEqual(['recover written']);
    expect(unrecorded()).toHaveLength(1);
  });

  it('send an earlier unsent event first, then the new one', async () => {
    const failing = world.failing(DAY, 20);
    const event = { type: 'subscription.failing', ...failing } as const;
    await subscribe({ failing, unsent: { event, at: world.clock.now() } });
    await answerTogether(status(200));
    expect(world.events()).toEqual(['subscription.failing', 'subscription.recovered']);
    expect(requested).toEqual(['recover refused', 'sent written', 'recover written', 'sent written']);
    expect(await world.subscription()).not.toHaveProperty('unsent');
  });
});

describe('an operator event', () => {
  /** Refuses events of this type until the returned function is called. */
  const refuse = (refused: string): (() => void) => {
    const publish = world.operatorEvents.publish.bind(world.operatorEvents);
    world.operatorEvents.publish = (event) =>
      event.type === refused ? Promise.reject(new Error('EventBridge is down')) : publish(event);
    return () => void (world.operatorEvents.publish = publish);
  };

  it('that could not be sent is sent by an attempt a minute later', async () => {
    await subscribe({ failing: world.failing(DAY, 19) });
    await world.answer(status(500));
    expect(world.events()).toEqual(['subscription.failing']);

    const repair = refuse('subscription.recovered');
    await world.answer(status(200));
    repair();
    expect(unrecorded()).toMatchObject([world.name]);

    await world.runFor(MINUTE - 1);
    await world.answer(status(200));
    expect(world.events()).toEqual(['subscription.failing']);
    await world.runFor(1);
    await world.answer(status(200));
    expect(world.events()).toEqual(['subscription.failing', 'subscription.recovered']);
    expect(await world.subscription()).not.toHaveProperty('unsent');
  });

  it('for a disabled subscription is sent once, with the next message that it does not receive', async () => {
    await subscribe({ failing: world.failing(6 * DAY, 30) });
    const repair = refuse('subscription.disabled');
    await world.answer();
    expect((await world.subscription()).disabled).toMatchObject({ reason: 'failing' });
    repair();
    await world.runFor(MINUTE);
    for (let count = 0; count < 2; count += 1) {
      await world.answer();
      expect(world.events()).toEqual(['subscription.disabled']);
    }
  });
});

describe('a health update that fails', () => {
  it('is logged as a fault; the delivery continues and ends normally, and no message is redelivered', async () => {
    await world.subscribe({ retries_with_no_delay: 1 });
    world.subscriptions.changeHealth = () => Promise.reject(fault);
    await world.answer();
    const { attempts, ...delivery } = await world.delivery();
    expect(delivery).toMatchObject({ status: 'exhausted', pendingSteps: [] });
    expect(attempts).toMatchObject([{ startedAt: world.startedAt }, { startedAt: world.startedAt }]);
    expect(attempts[1]).not.toHaveProperty('lost');
    expect(unrecorded()).toHaveLength(2);
    expect([world.deliveryJobs.waiting, world.retryQueue.waiting]).toEqual([0, 0]);
  });

  it('does not delay a wake-up, which is scheduled before', async () => {
    await world.subscribe({ minimum_delay_retries: 1 });
    const waiting: number[] = [];
    world.subscriptions.changeHealth = () => {
      waiting.push(world.retryQueue.waiting);
      return new Promise(() => undefined);
    };
    await world.answer();
    expect(waiting[0]).toBe(1);
    expect(world.subscriber.seen).toHaveLength(2);
  });
});

describe('a health change', () => {
  const SETTLED = () => Promise.resolve(true);

  const MOST = MAX_INVOCATION_MS;

  /** Each request: milliseconds since the one before, its name, and how long ago its attempt began. */
  it.each([
    ['is made once for attempts that began before it was settled', [1, 'begin', 50], [0, 'begin', 2], []],
    ['is made again for an attempt that began afterwards', [10, 'begin', 5], undefined, ['begin']],
    ['does not block a different change', [1, 'recover', 100], undefined, ['recover']],
    ['is remembered while it may matter', [MOST, 'count', 0], [0, 'begin', MOST + 1], ['count']],
    ['is forgotten then', [MOST + 1, 'recover', 0], [0, 'begin', MOST + 2], ['recover', 'begin']],
  ] as const)('%s', async (_, second, third, made) => {
    let now = 1_000_000;
    const writes = healthWrites({ now: () => now });
    await writes.once('begin', now - 100, SETTLED);
    const again: string[] = [];
    for (const [later, name, ago] of third === undefined ? [second] : [second, third]) {
      now += later;
      await writes.once(name, now - ago, () => {
        again.push(name);
        return SETTLED();
      });
    }
    expect(again).toEqual(made);
  });

  it('that is in progress is not made a second time, whenever the attempt began', async () => {
    const writes = healthWrites({ now: () => 1_000_000 });
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const first = writes.once('recover', 999_900, () => promise);
    const second = vi.fn<() => Promise<boolean>>(SETTLED);
    await writes.once('recover', 1_000_000, second);
    resolve(true);
    await first;
    await writes.once('recover', 999_950, second);
    expect(second).not.toHaveBeenCalled();
  });

  it('that was not settled, or failed, is made for the next attempt that requests it', async () => {
    const writes = healthWrites({ now: () => 1_000_000 });
    const write = vi.fn<() => Promise<boolean>>(SETTLED);
    await writes.once('recover', 999_900, write.mockResolvedValueOnce(false));
    await expect(writes.once('recover', 999_900, write.mockRejectedValueOnce(fault))).rejects.toThrow(fault);
    await writes.once('recover', 999_900, write);
    expect(write).toHaveBeenCalledTimes(3);
  });
});
