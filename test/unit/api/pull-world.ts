import { createSecretKey } from 'node:crypto';
import * as z from 'zod';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { Message } from '../../../shared/domain/message/message.ts';
import { addSubscription } from '../../support/add-subscription.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { pipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { apiUnderTest } from './api-under-test.ts';
import { chunkedDeliveries } from '../../../functions/api/deliveries/chunked-deliveries.ts';
import { inMemoryDeliveryListings } from '../../support/in-memory/in-memory-deliveries.ts';

export const receivedSchema = z.object({
  deliveries: z.array(
    z.object({
      receipt: z.string(),
      messageId: z.string(),
      attempt: z.number(),
      leaseUntil: z.string(),
      headers: z.record(z.string(), z.string()),
      body: z.string(),
    }),
  ),
});

export type ReceivedDelivery = z.infer<typeof receivedSchema>['deliveries'][number];

export const PATH = '/v2/queues/orders/subscriptions/subscription-1';

/** The pipeline and the API on the same in-memory ports, with one pull subscription, `subscription-1`. */
export const pullWorld = async (more: Partial<Subscription> = {}) => {
  const world = pipelineWorld();
  const api = apiUnderTest({
    ...world.byHandContext.ports,
    registry: world.subscriptions,
    secretSealer: world.secretOpener,
    secretOpener: world.secretOpener,
    deliveries: chunkedDeliveries(world),
    deliveryListings: inMemoryDeliveryListings(world.deliveries, world.chunks),
    operatorEvents: world.operatorEvents,
    clock: world.clock,
    journal: world.journal,
  });
  const { call } = api;
  await world.subscriptions.putQueue(aQueue());
  const sealed = await world.secretOpener.seal(
    { queue: 'orders', subscriptionId: 'subscription-1' },
    { scheme: 'v1', key: createSecretKey(Buffer.alloc(32, 7)) },
  );
  await addSubscription(
    world.subscriptions,
    aSubscription({
      subscriber: 'pull:',
      secrets: [{ sealed }],
      options: { _retry_policy: aBarePolicy({ minimum_delay_retries: 2, minimum_delay: 5 }) },
      ...more,
    }),
  );

  const receive = async (body: object = {}): Promise<ReceivedDelivery[]> => {
    const answer = await call('POST', `${PATH}/receive`, body);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return receivedSchema.parse(answer.body).deliveries;
  };

  return {
    ...world,
    api,
    call,
    receive,
    /** The one delivery that can be received. */
    receiveOne: async (body: object = {}): Promise<ReceivedDelivery> => {
      const [one, ...others] = await receive(body);
      if (one === undefined || others.length > 0) throw new Error(`received ${1 + others.length}`);
      return one;
    },
    ack: ({ receipt }: { receipt: string }) => call('POST', `${PATH}/ack`, { receipt }),
    nack: ({ receipt }: { receipt: string }, error?: string) =>
      call('POST', `${PATH}/nack`, { receipt, ...(error !== undefined && { error }) }),
    publish: async (message: Partial<Message> = {}): Promise<void> => {
      await world.dispatch({ ok: true, message: aMessage(message) });
      await world.clock.run(world.clock.now());
    },
    /** Ends the lease of what was received for a short time, and records that. */
    lapse: async (): Promise<void> => {
      await world.clock.run(world.clock.now() + 36_000);
      await world.reconcile();
      await world.clock.run(world.clock.now() + 10_000);
    },
    later: (milliseconds: number): Promise<void> => world.clock.run(world.clock.now() + milliseconds),
  };
};

export type PullWorld = Awaited<ReturnType<typeof pullWorld>>;
