import { subscriberOf } from '../../../shared/domain/subscription/destination.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  sendOwedConfirmation,
  newConfirmation,
} from '../../../functions/api/subscriptions/ask-confirmation.ts';
import { confirm } from '../../../functions/api/subscriptions/confirm.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { inMemoryJournal } from '../../support/in-memory/in-memory-journal.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const subscription = aSubscription({
  options: { _retry_policy: aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 5 }) },
});
const NAME = { queue: 'orders', subscriptionId: subscription.id };

let world: PipelineWorld;

const contextOf = ({
  subscriptions,
  messageRecords,
  payloads,
  deliveryJobs,
  clock,
  settings,
}: PipelineWorld) => ({
  registry: subscriptions,
  messageRecords,
  payloads,
  clock,
  deliveryQueue: {
    send: (jobs: readonly Parameters<typeof deliveryJobs.send>[0][]) => {
      for (const job of jobs) deliveryJobs.send(job);
      return Promise.resolve();
    },
  },
  settings: { ...settings, subscriptionConfirmation: true },
  randomBytes: (bytes: number) => new Uint8Array(bytes).fill(7),
  journal: inMemoryJournal(),
});

/** Sends a confirmation request and returns the token of its link. */
const ask = async (): Promise<string> => {
  const context = contextOf(world);
  const { token, unconfirmed } = newConfirmation(context);
  const waiting = { ...subscription, unconfirmed };
  await world.subscriptions.addSubscription(waiting);
  await sendOwedConfirmation(context, waiting, 'https://api.test');
  // `randomBytes` is constant, so every token is the same.
  return token;
};

beforeEach(async () => {
  world = pipelineWorld();
  await world.subscriptions.putQueue(aQueue());
});

describe('a subscriber that has to confirm', () => {
  it('receives the confirmation request like a message, and no message before it confirms', async () => {
    const token = await ask();
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run();
    expect(world.subscriber.seen.map(({ request }) => JSON.parse(request.body) as unknown)).toEqual([
      expect.objectContaining({
        type: 'posthaste.subscription_confirmation',
        queue: 'orders',
        data: {
          queue: 'orders',
          subscriptionId: 'subscription-1',
          confirmUrl: `https://api.test/v2/queues/orders/subscriptions/subscription-1/confirm?token=${token}`,
        },
      }),
    ]);
  });

  it('receives the confirmation request again according to its retry policy', async () => {
    world.subscriber.script(subscriberOf(subscription.destination), [status(503), status(503), status(200)]);
    await ask();
    await world.clock.run();
    expect(world.subscriber.seen).toHaveLength(3);
    const ids = new Set(world.subscriber.seen.map(({ request }) => request.headers['webhook-id']));
    expect(ids.size).toBe(1);
  });

  it('receives the messages sent after its confirmation', async () => {
    const token = await ask();
    await world.clock.run();
    await world.clock.run(world.clock.now() + 1_000);
    expect(await confirm(contextOf(world), NAME, token)).toBe(true);
    await world.clock.run(world.clock.now() + 1_000);
    await world.dispatch({ ok: true, message: aMessage({ id: 'message-2' }) });
    await world.clock.run();
    expect(world.subscriber.seen.at(-1)?.request.headers['webhook-id']).toBe('message-2');
  });

  it('does not receive deliveries started for the previous URL; their messages are stored', async () => {
    await world.subscriptions.addSubscription(subscription);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.subscriptions.changeSubscription({ ...NAME, now: world.clock.now() }, (current) => ({
      ...current,
      subscriber: 'https://other.test/hook',
      unconfirmed: { tokenHash: 'another token', at: world.clock.now() },
    }));
    await world.clock.run();
    expect(world.subscriber.seen).toEqual([]);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'subscription_unconfirmed' });
    expect(await world.messageRecords.find({ queue: 'orders', messageId: 'message-1' })).toHaveProperty(
      'body',
    );
  });
});

describe('a cached subscription that cannot be called', () => {
  it('is read again before its delivery is cancelled', async () => {
    await world.subscriptions.addSubscription(subscription);
    const disabled = { reason: 'manual', at: 0 } as const;
    const reads: string[] = [];
    world.deliverContext.ports.subscriptions = {
      ...world.subscriptions,
      find: async (queue, id, freshness) => {
        reads.push(freshness);
        const found = await world.subscriptions.find(queue, id, freshness);
        return freshness === 'fresh' ? found : { ...found, subscription: { ...subscription, disabled } };
      },
    };
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run();
    expect(reads).toEqual(['cached', 'fresh']);
    expect(await world.delivery()).toMatchObject({ status: 'delivered' });
  });
});
