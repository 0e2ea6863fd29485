import { beforeEach, describe, expect, it } from 'vitest';
import type { HealthWrites } from '../../../functions/deliver/context.ts';
import { healthWrites } from '../../../functions/deliver/health.ts';
import { MAX_INVOCATION_MS } from '../../../shared/domain/retry/attempt-duration.ts';
import { asEnabled } from '../../../shared/domain/subscription/change.ts';
import { subscriberOf } from '../../../shared/domain/subscription/destination.ts';
import type { HealthChange } from '../../../shared/domain/subscription/health.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { HealthResult } from '../../../shared/ports/subscriptions.ts';
import { aBarePolicy, aMessage } from '../../support/builders.ts';
import {
  oneSubscriptionWorld,
  type OneSubscriptionWorld,
} from '../../support/in-memory/one-subscription-world.ts';
import { type ScriptedReply, status } from '../../support/in-memory/scripted-subscriber.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
let world: OneSubscriptionWorld;

beforeEach(() => {
  world = oneSubscriptionWorld();
});

describe('a subscription', () => {
  const NAME = { queue: 'orders', subscriptionId: 'subscription-1' };
  let changes: string[];

  beforeEach(() => {
    changes = [];
    const change = world.subscriptions.changeHealth.bind(world.subscriptions);
    world.subscriptions.changeHealth = (queue, id, wanted) => {
      changes.push(wanted.kind);
      return change(queue, id, wanted);
    };
  });

  it('that is healthy is never written', async () => {
    await world.subscribe();
    for (let count = 0; count < 3; count += 1) await world.answer(status(200));
    expect(changes).toEqual([]);
  });

  it.each([status(400), { kind: 'forbidden' }, { kind: 'unanswered', error: 'timeout' }] as const)(
    'fails by any result other than a success: %j',
    async (reply) => {
      await world.subscribe();
      await world.answer(reply);
      expect((await world.subscription()).failing).toMatchObject({ failures: 1 });
    },
  );

  it('is reported failing after twenty failures and recovered after one success, without further writes', async () => {
    await world.subscribe();
    const since = world.clock.now();
    await world.answer();
    await world.later(2 * MINUTE);
    for (let count = 0; count < 30; count += 1) await world.answer();
    expect((await world.subscription()).failing).toMatchObject({ since, failures: 20 });
    expect(changes).toEqual(['begin', ...Array<string>(19).fill('count'), 'sent']);

    const at = world.clock.now();
    await world.answer(status(200));
    expect(await world.subscription()).not.toHaveProperty('failing');
    expect(await world.subscription()).not.toHaveProperty('unsent');
    const ids = { queue: 'orders', subscriptionId: 'subscription-1' };
    expect(world.operatorEvents.published.filter(({ type }) => type !== 'delivery.exhausted')).toEqual([
      { type: 'subscription.failing', ...ids, since, failures: 20 },
      { type: 'subscription.recovered', ...ids, since, at },
    ]);
  });

  it('is disabled by the first failure after five days without a success; later messages are cancelled', async () => {
    await world.subscribe({ failing: world.failing(5 * DAY - 1, 30) });
    await world.answer();
    expect(await world.subscription()).not.toHaveProperty('disabled');
    await world.later(1);
    const at = world.clock.now();
    await world.answer();
    expect((await world.subscription()).disabled).toEqual({ reason: 'failing', at });
    await world.answer(status(200));
    expect(await world.delivery('subscription-1', 'message-3')).toMatchObject({ status: 'cancelled' });
    expect(world.publishedEvents()).toEqual(['subscription.disabled']);
    expect(world.operatorEvents.published).toContainEqual({
      type: 'subscription.disabled',
      queue: 'orders',
      subscriptionId: 'subscription-1',
      reason: 'failing',
      at,
    });
  });

  it('that succeeded since is not disabled by an attempt with a stale cache', async () => {
    await world.subscribe({ failing: world.failing(6 * DAY, 30) });
    const cached = await world.subscriptions.find('orders', 'subscription-1', 'fresh');
    await world.answer(status(200));
    const find = world.subscriptions.find.bind(world.subscriptions);
    world.subscriptions.find = (queue, id, freshness) =>
      freshness === 'cached' ? Promise.resolve(cached) : find(queue, id, freshness);
    await world.answer();
    expect(await world.subscription()).not.toHaveProperty('disabled');
    expect(world.publishedEvents()).toEqual(['subscription.recovered']);
  });

  it('that was disabled manually during the attempt is not written', async () => {
    await world.subscribe({ failing: world.failing(6 * DAY, 30) });
    const disabled = { reason: 'manual', at: 1 } as const;
    world.subscriber.onRequest = async () => {
      await world.subscriptions.disable('orders', 'subscription-1', disabled);
    };
    await world.answer();
    expect((await world.subscription()).disabled).toEqual(disabled);
    expect(changes).toEqual([]);
  });

  it('that is enabled during a request is not marked as failing', async () => {
    await world.subscribe();
    world.subscriber.onRequest = async () => {
      const { clock, subscriptions } = world;
      await subscriptions.changeSubscription({ ...NAME, now: clock.now() }, (current) =>
        asEnabled(current, clock.now()),
      );
    };
    await world.answer();
    expect(await world.subscription()).not.toHaveProperty('failing');
    expect(changes).toEqual(['begin']);
  });

  it('stays marked after a success with a stale cache, until the next success', async () => {
    await world.subscribe();
    const cached = await world.subscriptions.find('orders', 'subscription-1', 'fresh');
    await world.answer();
    const find = world.subscriptions.find.bind(world.subscriptions);
    world.subscriptions.find = (queue, id, freshness) =>
      freshness === 'cached' ? Promise.resolve(cached) : find(queue, id, freshness);
    await world.answer(status(200));
    expect((await world.subscription()).failing).toMatchObject({ failures: 1 });
    world.subscriptions.find = find;
    await world.answer(status(200));
    expect(await world.subscription()).not.toHaveProperty('failing');
  });

  it('is updated at each immediate retry, from a new read', async () => {
    await world.subscribe({
      options: { _retry_policy: aBarePolicy({ retries_with_no_delay: 3 }) },
      failing: world.failing(DAY, 5),
    });
    await world.answer();
    expect((await world.subscription()).failing).toMatchObject({ failures: 9 });
  });

  it('is updated also by a late result', async () => {
    await world.subscribe({ failing: world.failing(DAY, 5) });
    const write = world.deliveries.write.bind(world.deliveries);
    world.deliveries.write = async (transition) => {
      const { key } = transition;
      if (transition.name !== 'record') return write(transition);
      const current = await world.deliveries.find(key);
      return { kind: 'refused', current };
    };
    await world.answer(status(200));
    expect(await world.subscription()).not.toHaveProperty('failing');
  });
});

describe('many function instances and deliveries', () => {
  /** How long a subscriber and a write take, in milliseconds. */
  const ANSWER_MS = 100;
  const WRITE_MS = 5;

  /** The original call, which is not recorded in `requested`: writes as another function instance. */
  let changeHealth: OneSubscriptionWorld['subscriptions']['changeHealth'];
  let requested: { kind: HealthChange['kind']; result: HealthResult['kind'] }[];
  let messages: number;

  beforeEach(() => {
    requested = [];
    messages = 0;
    changeHealth = world.subscriptions.changeHealth.bind(world.subscriptions);
    world.subscriptions.changeHealth = async (queue, id, wanted) => {
      const result = await changeHealth(queue, id, wanted);
      await world.clock.sleep(WRITE_MS);
      requested.push({ kind: wanted.kind, result: result.kind });
      return result;
    };
  });

  /** Runs concurrent deliveries that read the same subscription and whose responses arrive a millisecond apart. */
  const answerTogether = async (count: number, reply: ScriptedReply): Promise<void> => {
    const subscriber = subscriberOf((await world.subscription()).destination);
    world.subscriber.script(subscriber, [reply]);
    const before = world.subscriber.seen.length;
    world.subscriber.onRequest = (_, request) => world.clock.sleep(ANSWER_MS + request - before);
    for (let n = 0; n < count; n += 1) {
      messages += 1;
      await world.dispatch({ ok: true, message: aMessage({ id: `together-${messages}` }) });
    }
    await world.clock.run();
  };

  const subscribeFailing = (more: Partial<Subscription> = {}): Promise<void> =>
    world.subscribe({ failing: world.failing(DAY, 5), ...more });

  describe('concurrent deliveries to one subscription', () => {
    it('start a failing period by one write when they fail', async () => {
      await world.subscribe();
      await answerTogether(10, status(500));
      expect(requested).toEqual([{ kind: 'begin', result: 'written' }]);
    });

    it('count as one failure, in one write, when they fail', async () => {
      await subscribeFailing();
      await answerTogether(10, status(500));
      expect(requested).toEqual([{ kind: 'count', result: 'written' }]);
      expect((await world.subscription()).failing).toMatchObject({ failures: 6 });
    });

    it('end a failing period by one write when they succeed', async () => {
      await subscribeFailing();
      await answerTogether(10, status(200));
      expect(requested).toEqual([{ kind: 'recover', result: 'written' }]);
      expect(await world.subscription()).not.toHaveProperty('failing');
    });

    it('publish one recovery event when they succeed', async () => {
      await subscribeFailing({ failing: world.failing(DAY, 20) });
      await answerTogether(10, status(200));
      expect(requested).toEqual([
        { kind: 'recover', result: 'written' },
        { kind: 'sent', result: 'written' },
      ]);
      expect(world.publishedEvents()).toEqual(['subscription.recovered']);
    });

    it('disable the subscription by one write when they fail for too long', async () => {
      await subscribeFailing({ failing: world.failing(6 * DAY, 30) });
      await answerTogether(10, status(500));
      expect(requested.map(({ kind }) => kind)).toEqual(['disable', 'sent']);
      expect(world.publishedEvents()).toEqual(['subscription.disabled']);
    });

    it('make one attempt at a change that another instance has already made', async () => {
      await subscribeFailing();
      const { failing = world.failing(0, 0) } = await world.subscription();
      const cached = await world.subscriptions.find('orders', 'subscription-1', 'fresh');
      world.subscriptions.find = () => Promise.resolve(cached);
      await changeHealth('orders', 'subscription-1', { kind: 'recover', since: failing.since });
      await answerTogether(10, status(200));
      expect(requested).toEqual([{ kind: 'recover', result: 'refused' }]);
    });

    it('do not send the event that another instance is just sending', async () => {
      await subscribeFailing({ failing: world.failing(DAY, 20) });
      const { failing = world.failing(0, 0) } = await world.subscription();
      const cached = await world.subscriptions.find('orders', 'subscription-1', 'fresh');
      world.subscriptions.find = () => Promise.resolve(cached);
      const at = world.clock.now();
      const event = { type: 'subscription.recovered', since: failing.since, at } as const;
      const other = { kind: 'recover', since: failing.since, unsent: { event, at } } as const;
      await changeHealth('orders', 'subscription-1', other);
      await answerTogether(10, status(200));
      expect(world.publishedEvents()).toEqual([]);
      expect(requested).toEqual([{ kind: 'recover', result: 'refused' }]);
    });

    it('repeat an update that failed', async () => {
      await subscribeFailing();
      const change = world.subscriptions.changeHealth.bind(world.subscriptions);
      let failures = 0;
      world.subscriptions.changeHealth = (...given) => {
        failures += 1;
        if (failures > 1) return change(...given);
        return Promise.reject(new Error('DynamoDB is down'));
      };
      await answerTogether(3, status(200));
      expect(requested).toEqual([{ kind: 'recover', result: 'written' }]);
      expect(world.unrecordedHealth()).toHaveLength(1);
    });

    it('send an earlier unsent event first, then the new one', async () => {
      const since = world.clock.now() - DAY;
      const event = { type: 'subscription.failing', since, failures: 20 } as const;
      await subscribeFailing({ failing: { since, failures: 20 }, unsent: { event, at: world.clock.now() } });
      await answerTogether(10, status(200));
      expect(world.publishedEvents()).toEqual(['subscription.failing', 'subscription.recovered']);
      expect(requested).toEqual([
        { kind: 'recover', result: 'refused' },
        { kind: 'sent', result: 'written' },
        { kind: 'recover', result: 'written' },
        { kind: 'sent', result: 'written' },
      ]);
    });
  });

  describe('a later delivery', () => {
    it('starts a new failing period after the previous one ended', async () => {
      await world.subscribe();
      await answerTogether(10, status(500));
      await answerTogether(10, status(200));
      await answerTogether(10, status(500));
      expect(requested.map(({ kind, result }) => `${kind} ${result}`)).toEqual([
        'begin written',
        'recover written',
        'begin written',
      ]);
    });
  });
});

describe('an operator event', () => {
  it('that could not be sent is sent by an attempt a minute later', async () => {
    await world.subscribe({ failing: world.failing(DAY, 19) });
    await world.answer(status(500));
    expect(world.publishedEvents()).toEqual(['subscription.failing']);

    const repair = world.refuseEvents('subscription.recovered');
    await world.answer(status(200));
    repair();
    expect(world.publishedEvents()).toEqual(['subscription.failing']);
    expect(world.unrecordedHealth()).toMatchObject([{ queue: 'orders', subscriptionId: 'subscription-1' }]);

    await world.later(MINUTE - 1);
    await world.answer(status(200));
    expect(world.publishedEvents()).toEqual(['subscription.failing']);
    await world.later(1);
    await world.answer(status(200));
    expect(world.publishedEvents()).toEqual(['subscription.failing', 'subscription.recovered']);
    expect(await world.subscription()).not.toHaveProperty('unsent');
  });

  it('for a disabled subscription is sent with the next message that it does not receive', async () => {
    await world.subscribe({ failing: world.failing(6 * DAY, 30) });
    const repair = world.refuseEvents('subscription.disabled');
    await world.answer();
    expect((await world.subscription()).disabled).toMatchObject({ reason: 'failing' });
    repair();
    await world.later(MINUTE);
    await world.answer();
    expect(world.publishedEvents()).toEqual(['subscription.disabled']);
    await world.answer();
    expect(world.publishedEvents()).toEqual(['subscription.disabled']);
  });

  it('waits until the earlier event is sent', async () => {
    const since = world.clock.now() - DAY;
    const event = { type: 'subscription.failing', since, failures: 20 } as const;
    await world.subscribe({ failing: { since, failures: 20 }, unsent: { event, at: world.clock.now() } });
    await world.answer(status(200));
    expect(world.publishedEvents()).toEqual(['subscription.failing', 'subscription.recovered']);
    expect(await world.subscription()).not.toHaveProperty('unsent');
    expect(await world.subscription()).not.toHaveProperty('failing');
  });
});

describe('a health update that fails', () => {
  const dynamoIsDown = (): void => {
    world.subscriptions.changeHealth = () => Promise.reject(new Error('DynamoDB is down'));
  };

  it('is logged as a fault; the delivery ends normally and no message is redelivered', async () => {
    await world.subscribe();
    dynamoIsDown();
    await world.answer();
    expect(await world.delivery()).toMatchObject({ status: 'exhausted', pendingSteps: [] });
    expect(world.unrecordedHealth()).toHaveLength(1);
    expect([world.deliveryJobs.waiting, world.retryQueue.waiting]).toEqual([0, 0]);
  });

  it('does not prevent an immediate retry or count it as lost', async () => {
    await world.subscribe({ options: { _retry_policy: aBarePolicy({ retries_with_no_delay: 1 }) } });
    dynamoIsDown();
    await world.answer();
    const { attempts } = await world.delivery();
    expect(attempts).toMatchObject([{ number: 1 }, { number: 2 }]);
    expect(attempts[1]).not.toHaveProperty('lost');
    expect(attempts[1]?.startedAt).toBe(attempts[0]?.startedAt);
  });

  it('does not delay a wake-up, which is scheduled before', async () => {
    await world.subscribe({ options: { _retry_policy: aBarePolicy({ minimum_delay_retries: 1 }) } });
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
  let now: number;
  let made: string[];
  let writes: HealthWrites;

  beforeEach(() => {
    now = 1_000_000;
    made = [];
    writes = healthWrites({ now: () => now });
  });

  /** Requests a change for an attempt that began `ago` milliseconds ago. */
  const request = (name: string, ago: number, isSettled = true): Promise<void> =>
    writes.once(name, now - ago, () => {
      made.push(name);
      return Promise.resolve(isSettled);
    });

  it('is made once for attempts that began before it was settled', async () => {
    await request('begin', 100);
    now += 1;
    await request('begin', 50);
    await request('begin', 2);
    expect(made).toEqual(['begin']);
  });

  it('is made again for an attempt that began afterwards, because it read a newer subscription', async () => {
    await request('begin', 100);
    now += 10;
    await request('begin', 5);
    expect(made).toEqual(['begin', 'begin']);
  });

  it('does not block a different change', async () => {
    await request('begin', 100);
    now += 1;
    await request('recover', 100);
    expect(made).toEqual(['begin', 'recover']);
  });

  it('that is in progress is not made a second time, whenever the attempt began', async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const first = writes.once('recover', now - 100, () => promise);
    now += 10;
    await request('recover', 0);
    expect(made).toEqual([]);
    resolve(true);
    await first;
    await request('recover', 50);
    expect(made).toEqual([]);
  });

  it('that was not settled is made for the next attempt that requests it', async () => {
    await request('recover', 100, false);
    now += 1;
    await request('recover', 100);
    expect(made).toEqual(['recover', 'recover']);
  });

  it('that failed throws, and is made for the next attempt that requests it', async () => {
    const failing = writes.once('recover', now - 100, () => Promise.reject(new Error('DynamoDB is down')));
    await expect(failing).rejects.toThrow('DynamoDB is down');
    await request('recover', 100);
    expect(made).toEqual(['recover']);
  });

  it('is forgotten when no attempt from before it can be in flight', async () => {
    await request('begin', 100);
    now += MAX_INVOCATION_MS;
    await request('count', 0);
    await request('begin', MAX_INVOCATION_MS + 1);
    expect(made).toEqual(['begin', 'count']);
    now += 1;
    await request('recover', 0);
    await request('begin', MAX_INVOCATION_MS + 2);
    expect(made).toEqual(['begin', 'count', 'recover', 'begin']);
  });
});
