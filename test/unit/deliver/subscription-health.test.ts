import { beforeEach, describe, expect, it } from 'vitest';
import { asEnabled } from '../../../shared/domain/subscription/change.ts';
import { aBarePolicy } from '../../support/builders.ts';
import {
  oneSubscriptionWorld,
  type OneSubscriptionWorld,
} from '../../support/in-memory/one-subscription-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const NAME = { queue: 'orders', subscriptionId: 'subscription-1' };
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let world: OneSubscriptionWorld;
let changes: string[];

beforeEach(() => {
  world = oneSubscriptionWorld();
  changes = [];
  const change = world.subscriptions.changeHealth.bind(world.subscriptions);
  world.subscriptions.changeHealth = (queue, id, wanted) => {
    changes.push(wanted.kind);
    return change(queue, id, wanted);
  };
});

describe('a subscription', () => {
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
