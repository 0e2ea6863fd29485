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

/** Milliseconds that a subscriber takes, and then a write. */
const ANSWER_MS = 100;
const WRITE_MS = 5;

let world: OneSubscriptionWorld;
/** Past what is asked for: as another instance of the function does it. */
let changeHealth: OneSubscriptionWorld['subscriptions']['changeHealth'];
let asked: { kind: HealthChange['kind']; result: HealthResult['kind'] }[];

let messages: number;

beforeEach(() => {
  world = oneSubscriptionWorld();
  asked = [];
  messages = 0;
  changeHealth = world.subscriptions.changeHealth.bind(world.subscriptions);
  world.subscriptions.changeHealth = async (queue, id, wanted) => {
    const result = await changeHealth(queue, id, wanted);
    await world.clock.sleep(WRITE_MS);
    asked.push({ kind: wanted.kind, result: result.kind });
    return result;
  };
});

/** So many deliveries side by side, the answers a millisecond apart, all by one reading of the subscription. */
const answerTogether = async (count: number, reply: ScriptedReply): Promise<void> => {
  const { subscriber } = await world.subscription();
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

describe('of deliveries side by side to one subscription', () => {
  it('the failures begin a spell by one write', async () => {
    await world.subscribe();
    await answerTogether(10, status(500));
    expect(asked).toEqual([{ kind: 'begin', result: 'written' }]);
  });

  it('the failures count as one, by one write', async () => {
    await subscribeFailing();
    await answerTogether(10, status(500));
    expect(asked).toEqual([{ kind: 'count', result: 'written' }]);
    expect((await world.subscription()).failing).toMatchObject({ failures: 6 });
  });

  it('the successes end a spell by one write', async () => {
    await subscribeFailing();
    await answerTogether(10, status(200));
    expect(asked).toEqual([{ kind: 'recover', result: 'written' }]);
    expect(await world.subscription()).not.toHaveProperty('failing');
  });

  it('the successes tell once that it recovered', async () => {
    await subscribeFailing({ failing: world.failing(DAY, 20) });
    await answerTogether(10, status(200));
    expect(asked).toEqual([
      { kind: 'recover', result: 'written' },
      { kind: 'sent', result: 'written' },
    ]);
    expect(world.told()).toEqual(['subscription.recovered']);
  });

  it('the failures disable it by one write', async () => {
    await subscribeFailing({ failing: world.failing(6 * DAY, 30) });
    await answerTogether(10, status(500));
    expect(asked.map(({ kind }) => kind)).toEqual(['disable', 'sent']);
    expect(world.told()).toEqual(['subscription.disabled']);
  });

  it('one is refused what another instance has written, and the others do not ask', async () => {
    await subscribeFailing();
    const { failing = world.failing(0, 0) } = await world.subscription();
    const cached = await world.subscriptions.find('orders', 'subscription-1', 'fresh');
    world.subscriptions.find = () => Promise.resolve(cached);
    await changeHealth('orders', 'subscription-1', { kind: 'recover', since: failing.since });
    await answerTogether(10, status(200));
    expect(asked).toEqual([{ kind: 'recover', result: 'refused' }]);
  });

  it('another notes what one could not', async () => {
    await subscribeFailing();
    const change = world.subscriptions.changeHealth.bind(world.subscriptions);
    let failures = 0;
    world.subscriptions.changeHealth = (...given) => {
      failures += 1;
      if (failures > 1) return change(...given);
      return Promise.reject(new Error('DynamoDB is down'));
    };
    await answerTogether(3, status(200));
    expect(asked).toEqual([{ kind: 'recover', result: 'written' }]);
    expect(world.unnoted()).toHaveLength(1);
  });

  it('one tells first what has to be told, and then what it says', async () => {
    const since = world.clock.now() - DAY;
    const event = { type: 'subscription.failing', since, failures: 20 } as const;
    await subscribeFailing({ failing: { since, failures: 20 }, unsent: { event, at: world.clock.now() } });
    await answerTogether(10, status(200));
    expect(world.told()).toEqual(['subscription.failing', 'subscription.recovered']);
    expect(asked).toEqual([
      { kind: 'recover', result: 'refused' },
      { kind: 'sent', result: 'written' },
      { kind: 'recover', result: 'written' },
      { kind: 'sent', result: 'written' },
    ]);
  });
});

describe('a delivery after the others', () => {
  it('begins a spell anew, as soon as one is over', async () => {
    await world.subscribe();
    await answerTogether(10, status(500));
    await answerTogether(10, status(200));
    await answerTogether(10, status(500));
    expect(asked.map(({ kind, result }) => `${kind} ${result}`)).toEqual([
      'begin written',
      'recover written',
      'begin written',
    ]);
  });
});
