import { beforeEach, describe, expect, it } from 'vitest';
import { endLongWaits } from '../../../functions/reconcile/end-waits.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { inMemoryPullSubscriptions } from '../../support/in-memory/in-memory-subscriptions.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const HALF_OF_RETENTION = 15 * DAY;

let world: PipelineWorld;

const passes = (milliseconds: number): Promise<void> => world.clock.run(world.clock.now() + milliseconds);

/** An hour of runs. */
const endWaits = async (remainingMs = 60_000): Promise<void> => {
  const context = {
    ports: { ...world, pullSubscriptions: inMemoryPullSubscriptions(world.subscriptions, 1) },
    settings: world.settings,
  };
  for (let minute = 0; minute < 60; minute += 1) {
    await endLongWaits(context, () => remainingMs);
    await passes(MINUTE);
  }
};

const publish = async (count: number): Promise<void> => {
  for (let index = 0; index < count; index += 1)
    await world.dispatch({ ok: true, message: aMessage({ id: `m-${index}` }) });
  await world.clock.run(world.clock.now());
};

const statusOf = async (subscriptionId: string, messageId = 'm-0') => {
  const { status, reason } = await world.delivery(subscriptionId, messageId);
  return [status, reason];
};

beforeEach(async () => {
  world = pipelineWorld();
  await world.subscriptions.putQueue(aQueue());
  const options = { _retry_policy: aBarePolicy() };
  const expiresAt = world.clock.now() + DAY;
  await world.subscriptions.addSubscription(aSubscription({ id: 's-1', subscriber: 'pull:one', options }));
  await world.subscriptions.addSubscription(
    aSubscription({ id: 's-2', subscriber: 'pull:two', options, expiresAt }),
  );
});

describe('the end of long waits', () => {
  it('cancels what waited for half of the retention, on record for as long again', async () => {
    await publish(1);
    await passes(HALF_OF_RETENTION - HOUR);
    await endWaits();
    expect(await statusOf('s-1')).toEqual(['pending', undefined]);
    await endWaits();
    expect(await statusOf('s-1')).toEqual(['cancelled', 'not_received']);
    const { updatedAt, expiresAt } = await world.delivery('s-1', 'm-0');
    expect(expiresAt - updatedAt).toBe(2 * HALF_OF_RETENTION);
    expect(world.journal.facts.filter(({ fact }) => fact === 'delivery_cancelled')).toHaveLength(2);
  });

  it('cancels what waits for an expired subscription', async () => {
    await publish(1);
    await passes(DAY);
    await endWaits();
    expect(await statusOf('s-2')).toEqual(['cancelled', 'subscription_expired']);
    expect(await statusOf('s-1')).toEqual(['pending', undefined]);
  });

  it('covers more than a page of a subscription, and stops without time', async () => {
    await publish(30);
    await passes(HALF_OF_RETENTION);
    await endWaits(1_000);
    expect(await statusOf('s-1', 'm-29')).toEqual(['pending', undefined]);
    await endWaits();
    expect(await statusOf('s-1', 'm-29')).toEqual(['cancelled', 'not_received']);
    expect(await statusOf('s-2', 'm-29')).toEqual(['cancelled', 'subscription_expired']);
  });

  it('looks at each subscription once an hour', async () => {
    const looks: string[] = [];
    const waiting = world.deliveries.waiting.bind(world.deliveries);
    world.deliveries.waiting = (subscription, ...rest) => {
      looks.push(subscription.subscriptionId);
      return waiting(subscription, ...rest);
    };
    await endWaits();
    expect(looks.toSorted()).toEqual(['s-1', 's-2']);
  });
});
