import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { dynamoRegistry } from '../../shared/adapters/dynamodb/subscriptions/subscription-registry.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import { encodeOperation } from '../../shared/wire/jobs/operation.ts';
import { answerOf, callApi, deliveriesOf } from '../support/api-client.ts';
import { NO_RETRIES } from '../support/builders.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publish, send } from '../support/sqs-messages.ts';
import { subscribedQueue } from '../support/subscribed-queue.ts';

const { documents, endpoints } = deployment;
const receiver = await receiverOfTests();

/** A queue whose only delivery waits for its retry for a quarter of an hour. */
const aWaitingDelivery = async () => {
  const policy = { ...NO_RETRIES, minimum_delay_retries: 1, minimum_delay: 900, maximum_delay: 900 };
  const subscribed = await subscribedQueue(receiver, { policy, answers: [{ status: 503 }, { status: 200 }] });
  await publish({ queue: subscribed.queue, id: 'm', data: 1 });
  await hasStatus(subscribed.queue, 'retrying');
  return subscribed;
};

const hasStatus = (queue: string, status: string) =>
  eventually(`the status ${status}`, async () => {
    const delivery = (await deliveriesOf(queue, 'm'))?.at(0);
    return delivery?.status === status ? true : undefined;
  });

const recover = async (queue: string) => {
  const since = new Date(Date.now() - 60 * 60 * 1000).toISOString();
  await answerOf('POST', `/v2/queues/${queue}/recoveries`, { since, until: new Date().toISOString() });
};

describe.concurrent('what a deletion cancelled', () => {
  it('is sent by a recovery once the queue is restored, in which its id stays a duplicate', async () => {
    const { queue, path } = await aWaitingDelivery();
    const deletion = await callApi('DELETE', `/v2/queues/${queue}`);
    expect(Date.parse(deletion.headers.get('restorable-until') ?? '')).toBeGreaterThan(Date.now());
    await eventually('its cancellation', async () => {
      const listed = await answerOf('GET', `/v2/queues/${queue}/deliveries?deleted=true&status=cancelled`);
      return z.object({ deliveries: z.array(z.unknown()) }).parse(listed).deliveries.length === 1
        ? true
        : undefined;
    });
    await answerOf('POST', `/v2/queues/${queue}/restore`);
    await recover(queue);
    await hasStatus(queue, 'delivered');
    await publish({ queue, id: 'm', data: 1 });
    await publish({ queue, id: 'n', data: 1 });
    await receiver.waitFor(path, 3);
    expect(receiver.received(path).map(({ headers }) => headers['webhook-id'])).toEqual(['m', 'm', 'n']);
  });
});

describe.concurrent('a queue with more subscriptions than a request has time for', () => {
  it('is archived and restored by operate', async () => {
    const { queue, subscriptionId } = await subscribedQueue(receiver);
    const registry = dynamoRegistry(documents, endpoints.subscriptionsTable, systemClock);
    const deletedAt = Date.now();
    await registry.deleteQueue(queue, deletedAt, deletedAt + 60_000);
    await send(endpoints.operationQueueUrl, encodeOperation({ kind: 'cancellation', queue, deletedAt }));
    await eventually('its archive', async () => {
      const { Count } = await documents.query({
        TableName: endpoints.subscriptionsTable,
        KeyConditionExpression: 'pk = :archive',
        ExpressionAttributeValues: { ':archive': `ARCHIVE#${queue}#${deletedAt}` },
      });
      return Count === 1 ? true : undefined;
    });
    expect(await registry.restoreQueue(queue, Date.now())).toBe('restoring');
    expect((await callApi('GET', `/v2/queues/${queue}`)).status).toBe(404);
    await send(endpoints.operationQueueUrl, encodeOperation({ kind: 'restoration', queue }));
    await eventually('its restoration', async () =>
      (await callApi('GET', `/v2/queues/${queue}`)).status === 200 ? true : undefined,
    );
    const path = `/v2/queues/${queue}/subscriptions/${subscriptionId}`;
    expect((await callApi('GET', path)).status).toBe(200);
  });
});
