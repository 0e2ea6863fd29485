import { beforeEach, describe, expect, it } from 'vitest';
import type { OperatorEvent } from '../../../shared/domain/operator-event.ts';
import { moveTo } from '../../../shared/domain/subscription/change.ts';
import { enable } from '../../../functions/api/subscriptions/change.ts';
import { aMessage } from '../../support/builders.ts';
import {
  oneSubscriptionWorld,
  type OneSubscriptionWorld,
} from '../../support/in-memory/one-subscription-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const NAME = { queue: 'orders', subscriptionId: 'subscription-1' };

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

describe('a delivery that is exhausted', () => {
  it('is told of with its attempts and the end of the last one, and what it owes is settled by one write', async () => {
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
      fact: 'operator_told',
      event: world.operatorEvents.published[0],
    });
  });

  it('still owes what could not be done, and nothing of what could', async () => {
    await world.subscribe();
    const mended = world.refuseEvents('delivery.exhausted');
    world.subscriber.script('https://subscriber.test/hook', [status(500)]);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(world.clock.now() + 1_000);
    const ended = await world.delivery();
    expect(ended).toMatchObject({ status: 'exhausted', owed: ['exhausted_event'] });
    expect(ended.overdueAt).toBeDefined();

    mended();
    await world.clock.run();
    expect(await world.delivery()).toMatchObject({ owed: [], overdueAt: undefined });
    expect(published('delivery.exhausted')).toHaveLength(1);
    expect(world.undeliverables.sent).toHaveLength(1);
  });

  it('is told of though the undeliverable queue fails', async () => {
    await world.subscribe();
    world.undeliverables.send = () => Promise.reject(new Error('SQS is down'));
    world.subscriber.script('https://subscriber.test/hook', [status(500)]);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(world.clock.now() + 1_000);
    expect(await world.delivery()).toMatchObject({ owed: ['undeliverable'] });
    expect(published('delivery.exhausted')).toHaveLength(1);
  });
});

describe('deliveries that were answered 410', () => {
  /** Two at a time, so that both went by the subscription as it was. */
  const bothGone = async (): Promise<void> => {
    world.subscriber.script('https://subscriber.test/hook', [
      status(410, { takesMs: 100 }),
      status(410, { takesMs: 200 }),
    ]);
    for (const id of ['message-1', 'message-2'])
      await world.dispatch({ ok: true, message: aMessage({ id }) });
    await world.clock.run();
  };

  it('disable their subscription and tell of it once', async () => {
    await world.subscribe();
    const at = world.clock.now() + 100;
    await bothGone();
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
    expect(await world.delivery()).toMatchObject({ owed: [] });
    expect(await world.delivery('subscription-1', 'message-2')).toMatchObject({ owed: [] });
    expect(writes.filter((name) => name === 'settle')).toHaveLength(2);
  });

  it('tell of it though it could not be sent at first, with the time at which it was disabled', async () => {
    await world.subscribe();
    const at = world.clock.now() + 100;
    const mended = world.refuseEvents('subscription.disabled');
    world.clock.at(at + 5_000, mended);
    await bothGone();
    expect(published('subscription.disabled')).toMatchObject([{ reason: 'gone', at }]);
    expect(await world.delivery()).toMatchObject({ owed: [] });
  });

  it('leave it alone where it was enabled before they came to disable it', async () => {
    await world.subscribe();
    const context = { registry: world.subscriptions, clock: world.clock };
    const disable = world.subscriptions.disable.bind(world.subscriptions);
    let calls = 0;
    world.subscriptions.disable = async (...args) => {
      calls += 1;
      if (calls > 1) return disable(...args);
      await enable(context, NAME);
      throw new Error('DynamoDB is down');
    };
    await world.answer(status(410));
    expect(calls).toBeGreaterThan(1);
    expect(await world.subscription()).not.toHaveProperty('disabled');
    expect(world.operatorEvents.published).toEqual([]);
    expect(await world.delivery()).toMatchObject({ status: 'rejected', reason: 'gone', owed: [] });
  });

  it('leave it alone where it was enabled once more after they had disabled it', async () => {
    await world.subscribe();
    const context = { registry: world.subscriptions, clock: world.clock };
    const mended = world.refuseEvents('subscription.disabled');
    world.clock.at(world.clock.now() + 1_000, () => void enable(context, NAME).then(mended));
    await world.answer(status(410));
    expect(await world.subscription()).not.toHaveProperty('disabled');
    expect(await world.delivery()).toMatchObject({ owed: [] });
  });

  it('leave it alone where its subscriber is another one since they were asked', async () => {
    await world.subscribe();
    world.subscriber.onRequest = async () => {
      await world.subscriptions.changeSubscription({ ...NAME, now: world.clock.now() }, (current) =>
        moveTo('https://subscriber.test/new', current, world.clock.now()),
      );
    };
    await world.answer(status(410));
    expect(await world.subscription()).not.toHaveProperty('disabled');
    expect(world.operatorEvents.published).toEqual([]);
  });

  it('leave it alone where they went by what was cached of its old subscriber', async () => {
    await world.subscribe();
    const old = await world.subscriptions.find('orders', 'subscription-1', 'fresh');
    await world.subscriptions.changeSubscription({ ...NAME, now: world.clock.now() }, (current) =>
      moveTo('https://subscriber.test/new', current, world.clock.now()),
    );
    await world.later(2_000);
    const find = world.subscriptions.find.bind(world.subscriptions);
    world.subscriptions.find = (queue, id, freshness) =>
      freshness === 'cached' ? Promise.resolve(old) : find(queue, id, freshness);
    await world.answer(status(410));
    expect(world.subscriber.seen.map(({ request }) => request.url)).toEqual(['https://subscriber.test/hook']);
    expect(await world.subscription()).not.toHaveProperty('disabled');
  });

  it('disable one that was enabled before, when they were asked since', async () => {
    await world.subscribe({ changedAt: world.clock.now() + 5_000 });
    await world.answer(status(410));
    expect((await world.subscription()).disabled).toMatchObject({ reason: 'gone' });
    expect(await world.delivery()).toMatchObject({ owed: [] });
  });

  it('say nothing where it was disabled by hand before', async () => {
    await world.subscribe();
    world.subscriber.onRequest = async () => {
      await world.subscriptions.disable('orders', 'subscription-1', { reason: 'manual', at: 1 });
    };
    await world.answer(status(410));
    expect(world.operatorEvents.published).toEqual([]);
    expect(await world.delivery()).toMatchObject({ status: 'rejected', reason: 'gone', owed: [] });
  });
});
