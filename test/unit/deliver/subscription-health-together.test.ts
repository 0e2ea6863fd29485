import { subscriberOf } from '../../../shared/domain/subscription/destination.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import type { HealthChange } from '../../../shared/domain/subscription/health.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { HealthResult } from '../../../shared/ports/subscriptions.ts';
import { aMessage } from '../../support/builders.ts';
import {
  oneSubscriptionWorld,
  type OneSubscriptionWorld,
} from '../../support/in-memory/one-subscription-world.ts';
import { status, type ScriptedReply } from '../../support/in-memory/scripted-subscriber.ts';

const DAY = 24 * 60 * 60_000;

/** How long a subscriber and a write take, in milliseconds. */
const ANSWER_MS = 100;
const WRITE_MS = 5;

let world: OneSubscriptionWorld;
/** The original call, which is not recorded in `requested`: writes as another function instance. */
let changeHealth: OneSubscriptionWorld['subscriptions']['changeHealth'];
let requested: { kind: HealthChange['kind']; result: HealthResult['kind'] }[];

let messages: number;

beforeEach(() => {
  world = oneSubscriptionWorld();
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
