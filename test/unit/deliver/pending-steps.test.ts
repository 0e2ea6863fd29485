import { parseDestination } from '../../../shared/domain/subscription/destination.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import type { OperatorEvent } from '../../../shared/domain/delivery/operator-event.ts';
import { asEnabled, moveTo } from '../../../shared/domain/subscription/change.ts';
import { aMessage } from '../../support/builders.ts';
import {
  oneSubscriptionWorld,
  type OneSubscriptionWorld,
} from '../../support/in-memory/one-subscription-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const NAME = { queue: 'orders', subscriptionId: 'subscription-1' };

const enable = () =>
  world.subscriptions.changeSubscription({ ...NAME, now: world.clock.now() }, (current) =>
    asEnabled(current, world.clock.now()),
  );

let world: OneSubscriptionWorld;
let writes: string[];

beforeEach(() => {
  world = oneSubscriptionWorld();
  writes = [];
  const write = world.deliveries.write.bind(world.deliveries);
  world.deliveries.write = (transition) => {
    writes.push(transition.name);
    return write(transition);
  };
});

const published = (type: OperatorEvent['type']): OperatorEvent[] =>
  world.operatorEvents.published.filter((event) => event.type === type);

describe('an exhausted delivery', () => {
  it('publishes an event with its attempts and end, and one write completes its pending steps', async () => {
    await world.subscribe();
    const startedAt = world.clock.now();
    await world.answer(status(500, { takesMs: 700 }));
    const { key } = await world.delivery();
    expect(world.operatorEvents.published).toEqual([
      { type: 'delivery.exhausted', key, attempts: 1, at: startedAt + 700 },
    ]);
    expect(world.undeliverables.sent).toHaveLength(1);
    expect(writes).toEqual(['open', 'record', 'settle']);
    expect(world.journal.facts).toContainEqual({
      fact: 'operator_event_sent',
      event: world.operatorEvents.published[0],
    });
  });

  it('keeps only the failed steps pending', async () => {
    await world.subscribe();
    const repair = world.refuseEvents('delivery.exhausted');
    world.subscriber.script('https://subscriber.test/hook', [status(500)]);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(world.clock.now() + 1_000);
    const ended = await world.delivery();
    expect(ended).toMatchObject({ status: 'exhausted', pendingSteps: [{ kind: 'exhausted_event' }] });
    expect(ended.overdueAt).toBeDefined();

    repair();
    await world.clock.run();
    expect(await world.delivery()).toMatchObject({ pendingSteps: [], overdueAt: undefined });
    expect(published('delivery.exhausted')).toHaveLength(1);
    expect(world.undeliverables.sent).toHaveLength(1);
  });

  it('publishes its event even if the undeliverable queue fails', async () => {
    await world.subscribe();
    world.undeliverables.send = () => Promise.reject(new Error('SQS is down'));
    world.subscriber.script('https://subscriber.test/hook', [status(500)]);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(world.clock.now() + 1_000);
    expect(await world.delivery()).toMatchObject({ pendingSteps: [{ kind: 'undeliverable' }] });
    expect(published('delivery.exhausted')).toHaveLength(1);
  });
});

describe('deliveries whose answer disables the subscription', () => {
  /** Two concurrent deliveries, so that both read the subscription before the change. */
  const answerBothGone = async (): Promise<void> => {
    world.subscriber.script('https://subscriber.test/hook', [
      status(410, { takesMs: 100 }),
      status(410, { takesMs: 200 }),
    ]);
    for (const id of ['message-1', 'message-2'])
      await world.dispatch({ ok: true, message: aMessage({ id }) });
    await world.clock.run();
  };

  it('disable the subscription and publish one event', async () => {
    await world.subscribe();
    const at = world.clock.now() + 100;
    await answerBothGone();
    expect((await world.subscription()).disabled).toEqual({ reason: 'gone', at });
    expect(world.operatorEvents.published).toEqual([
      {
        type: 'subscription.disabled',
        queue: 'orders',
        subscriptionId: 'subscription-1',
        reason: 'gone',
        at,
      },
    ]);
    expect(await world.delivery()).toMatchObject({ pendingSteps: [] });
    expect(await world.delivery('subscription-1', 'message-2')).toMatchObject({ pendingSteps: [] });
    expect(writes.filter((name) => name === 'settle')).toHaveLength(2);
  });

  it('publish the event later if it fails at first, with the time of the disabling', async () => {
    await world.subscribe();
    const at = world.clock.now() + 100;
    const repair = world.refuseEvents('subscription.disabled');
    world.clock.at(at + 5_000, repair);
    await answerBothGone();
    expect(published('subscription.disabled')).toMatchObject([{ reason: 'gone', at }]);
    expect(await world.delivery()).toMatchObject({ pendingSteps: [] });
  });

  it('disable a subscription whose success asked for it, also if that fails at first', async () => {
    await world.subscribe();
    const at = world.clock.now() + 100;
    const disable = world.subscriptions.disable.bind(world.subscriptions);
    world.subscriptions.disable = () => {
      world.subscriptions.disable = disable;
      return Promise.reject(new Error('DynamoDB is down'));
    };
    await world.answer(status(204, { asks: 'disable', takesMs: 100 }));
    expect((await world.subscription()).disabled).toEqual({ reason: 'disable_requested', at });
    expect(published('subscription.disabled')).toMatchObject([{ reason: 'disable_requested', at }]);
    expect(await world.delivery()).toMatchObject({ status: 'delivered', pendingSteps: [] });
  });

  it('do not disable a subscription that was enabled before they were handled', async () => {
    await world.subscribe();
    const disable = world.subscriptions.disable.bind(world.subscriptions);
    let calls = 0;
    world.subscriptions.disable = async (...args) => {
      calls += 1;
      if (calls > 1) return disable(...args);
      await enable();
      throw new Error('DynamoDB is down');
    };
    await world.answer(status(410));
    expect(calls).toBeGreaterThan(1);
    expect(await world.subscription()).not.toHaveProperty('disabled');
    expect(world.operatorEvents.published).toEqual([]);
    expect(await world.delivery()).toMatchObject({ status: 'rejected', reason: 'gone', pendingSteps: [] });
  });

  it('do not disable a subscription that was enabled again afterwards', async () => {
    await world.subscribe();
    const repair = world.refuseEvents('subscription.disabled');
    world.clock.at(world.clock.now() + 1_000, () => void enable().then(repair));
    await world.answer(status(410));
    expect(await world.subscription()).not.toHaveProperty('disabled');
    expect(await world.delivery()).toMatchObject({ pendingSteps: [] });
  });

  it('do not disable a subscription whose URL changed since the request', async () => {
    await world.subscribe();
    world.subscriber.onRequest = async () => {
      await world.subscriptions.changeSubscription({ ...NAME, now: world.clock.now() }, (current) =>
        moveTo(parseDestination('https://subscriber.test/new'), current, world.clock.now()),
      );
    };
    await world.answer(status(410));
    expect(await world.subscription()).not.toHaveProperty('disabled');
    expect(world.operatorEvents.published).toEqual([]);
  });

  it('do not disable a subscription whose old URL came from a cache', async () => {
    await world.subscribe();
    const old = await world.subscriptions.find('orders', 'subscription-1', 'fresh');
    await world.subscriptions.changeSubscription({ ...NAME, now: world.clock.now() }, (current) =>
      moveTo(parseDestination('https://subscriber.test/new'), current, world.clock.now()),
    );
    await world.later(2_000);
    const find = world.subscriptions.find.bind(world.subscriptions);
    world.subscriptions.find = (queue, id, freshness) =>
      freshness === 'cached' ? Promise.resolve(old) : find(queue, id, freshness);
    await world.answer(status(410));
    expect(world.subscriber.seen.map(({ request }) => request.url)).toEqual(['https://subscriber.test/hook']);
    expect(await world.subscription()).not.toHaveProperty('disabled');
  });

  it('disable a subscription that was enabled before the request', async () => {
    await world.subscribe({ version: world.clock.now() + 5_000 });
    await world.answer(status(410));
    expect((await world.subscription()).disabled).toMatchObject({ reason: 'gone' });
    expect(await world.delivery()).toMatchObject({ pendingSteps: [] });
  });

  it('publish no event for a subscription that was disabled manually before', async () => {
    await world.subscribe();
    world.subscriber.onRequest = async () => {
      await world.subscriptions.disable('orders', 'subscription-1', { reason: 'manual', at: 1 });
    };
    await world.answer(status(410));
    expect(world.operatorEvents.published).toEqual([]);
    expect(await world.delivery()).toMatchObject({ status: 'rejected', reason: 'gone', pendingSteps: [] });
  });
});
