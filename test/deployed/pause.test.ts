import { randomUUID } from 'node:crypto';
import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { toItemKey } from '../../shared/adapters/dynamodb/deliveries/delivery-keys.ts';
import type { DeliveryKey } from '../../shared/domain/delivery/delivery.ts';
import { answerOf, callApi, deliveriesOf, putQueue, subscribe } from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { operatorEvents } from '../support/operator-events.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publish } from '../support/sqs-messages.ts';

const receiver = await receiverOfTests();
const eventOf = operatorEvents();

const DAY = 24 * 60 * 60 * 1000;

/** Moves a waiting delivery in the index. */
const acceptedBefore = async (key: Omit<DeliveryKey, 'bucket'>, ms: number): Promise<void> => {
  await deployment.dynamo.send(
    new UpdateCommand({
      TableName: deployment.endpoints.deliveriesTable,
      Key: toItemKey({ ...key, bucket: 0 }),
      UpdateExpression: 'SET overdueAt = :past',
      ExpressionAttributeValues: { ':past': Date.now() - ms },
    }),
  );
};

const IDS = ['m-1', 'm-2', 'm-3', 'm-4', 'm-5'];
const waitingSchema = z.object({ count: z.number() });
const pausedSchema = z.object({ paused: z.object({ until: z.string() }) });

/** A queue with one subscription, and the paths of both. */
const subscribed = async () => {
  const queue = `paused-${randomUUID()}`;
  await putQueue(queue, { retries_with_no_delay: 0, minimum_delay_retries: 1, minimum_delay: 1 });
  const id = await subscribe(queue, receiver.url(`/${queue}`));
  const ofQueue = `/v2/queues/${queue}`;
  return { queue, id, paths: { queue: ofQueue, subscription: `${ofQueue}/subscriptions/${id}` } };
};

/** Publishes the messages one after the other, so that their order of acceptance is known. */
const publishInOrder = async (queue: string, waiting: string): Promise<void> => {
  for (const [index, id] of IDS.entries()) {
    await publish({ queue, id, data: {} });
    await untilWaiting(waiting, index + 1);
  }
};

const untilWaiting = (path: string, count: number) =>
  eventually(`${count} deliveries wait`, async () => {
    const answer = waitingSchema.parse(await answerOf('GET', `${path}/waiting`));
    return answer.count === count ? answer : undefined;
  });

/** When the first attempt of a delivered message was due, in milliseconds. */
const dueTime = (queue: string, messageId: string): Promise<number> =>
  eventually(`${messageId} is delivered`, async () => {
    const [delivery] = (await deliveriesOf(queue, messageId)) ?? [];
    return delivery?.status === 'delivered' ? Date.parse(delivery.attempts[0]?.dueAt ?? '') : undefined;
  });

const idsOf = (path: string) => receiver.received(path).map(({ headers }) => String(headers['webhook-id']));

// Concurrent, because these tests mostly wait.
describe.concurrent.each([['subscription'], ['queue']] as const)(
  'a pause of a %s on the deployed system',
  (by) => {
    it('keeps messages and retries waiting, and sends them in order after it is resumed', async () => {
      const { queue, id, paths } = await subscribed();
      const path = `/${queue}`;
      // The early one fails once the pause is in force: its retry would come a second later.
      const inForce = Promise.withResolvers<true>();
      receiver.script(path, async ({ headers }) => {
        if (headers['webhook-id'] !== 'early') return { status: 200 };
        await inForce.promise;
        return { status: 500 };
      });
      await publish({ queue, id: 'early', data: {} });
      await receiver.waitFor(path, 1);

      const paused = await answerOf('POST', `${paths[by]}/pause`);
      expect(paused).toMatchObject({ paused: { by } });
      inForce.resolve(true);
      await untilWaiting(paths[by], 1);
      await answerOf('POST', `/v2/queues/${queue}/messages/early/deliveries/${id}/cancel`);
      await publishInOrder(queue, paths[by]);
      expect(idsOf(path)).toEqual(['early']);
      const [delivery] = (await deliveriesOf(queue, 'm-1')) ?? [];
      expect(delivery).toMatchObject({ attempts: [], nextAttempt: { waiting: 'paused' } });
      const retried = await callApi('POST', `/v2/queues/${queue}/messages/m-1/deliveries/${id}/retry`);
      expect(retried.status).toBe(409);

      await answerOf('POST', `${paths[by]}/resume`, { per_second: 2 });
      await receiver.waitFor(path, 1 + IDS.length);
      expect(idsOf(path).toSorted()).toEqual(['early', ...IDS]);
      await untilWaiting(paths[by], 0);
      const dueAt = await Promise.all(IDS.map((messageId) => dueTime(queue, messageId)));
      // Half a second apart. Requests overtake each other where an instance starts.
      expect(dueAt.map((at) => at - (dueAt[0] ?? 0))).toEqual([0, 500, 1000, 1500, 2000]);
    });

    it('warns, and cancels what has waited for the retention', async () => {
      const { queue, id, paths } = await subscribed();
      await answerOf('POST', `${paths[by]}/pause`);
      await publish({ queue, id: 'm-1', data: {} });
      await publish({ queue, id: 'm-2', data: {} });
      await untilWaiting(paths[by], 2);
      await acceptedBefore({ queue, messageId: 'm-1', subscriptionId: id }, 30 * DAY);
      await acceptedBefore({ queue, messageId: 'm-2', subscriptionId: id }, 29.5 * DAY);
      // Sends the operation again.
      await answerOf('POST', `${paths[by]}/pause`);
      const { detail } = await eventOf(queue, 'deliveries.expiring');
      expect(detail).toMatchObject(by === 'queue' ? { queue } : { queue, subscriptionId: id });
      // The event can come of the first look, which met the change of the test.
      const reason = await eventually('m-1 is cancelled', async () => {
        const [delivery] = (await deliveriesOf(queue, 'm-1')) ?? [];
        return delivery?.status === 'cancelled' ? delivery.reason : undefined;
      });
      expect(reason).toBe('paused_too_long');
      await untilWaiting(paths[by], 1);
    });

    it('ends by itself, with no request before', async () => {
      const { queue, paths } = await subscribed();
      const answer = await answerOf('POST', `${paths[by]}/pause`, { for_seconds: 8 });
      const { paused } = pausedSchema.parse(answer);
      await publish({ queue, id: 'm-1', data: {} });
      const [request] = await receiver.waitFor(`/${queue}`, 1);
      expect(request?.arrivedAt).toBeGreaterThanOrEqual(Date.parse(paused.until));
      expect(await answerOf('GET', paths.subscription)).not.toHaveProperty('paused');
    });
  },
);
