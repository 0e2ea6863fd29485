import { DeleteCommand, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { toMessageItemKey } from '../../shared/adapters/dynamodb/deliveries/message-records.ts';
import { subscriptionItemKey } from '../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import { encodeOperation } from '../../shared/wire/jobs/operation.ts';
import {
  answerOf,
  deleteSubscription,
  finishedDelivery,
  retryEnded,
  subscribe,
} from '../support/api-client.ts';
import { NO_RETRIES } from '../support/builders.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publish, send } from '../support/sqs-messages.ts';
import { subscribedQueue } from '../support/subscribed-queue.ts';

const { endpoints, dynamo } = deployment;

const hour = 60 * 60 * 1000;

const receiver = await receiverOfTests();

const shown = async (queue: string): Promise<unknown> =>
  z
    .looseObject({ body: z.unknown().optional() })
    .parse(await answerOf('GET', `/v2/queues/${queue}/messages/m`)).body;

/** Makes the record of the message expire in an hour, as if it had been stored long ago. */
const expireSoon = (queue: string): Promise<unknown> =>
  dynamo.send(
    new UpdateCommand({
      TableName: endpoints.deliveriesTable,
      Key: toMessageItemKey({ queue, messageId: 'm' }),
      UpdateExpression: 'SET expiresAt = :soon',
      ExpressionAttributeValues: { ':soon': Date.now() + hour },
    }),
  );

const dataOf = (path: string): unknown[] =>
  receiver
    .received(path)
    .map(({ body }) => z.object({ data: z.unknown() }).parse(JSON.parse(body.toString())).data);

describe('a message too large for its record', () => {
  const data = 'x'.repeat(20_000);

  it('is stored at its first failure, and can be shown, retried manually and recovered much later', async () => {
    const { queue, path, subscriptionId } = await subscribedQueue(receiver, {
      policy: NO_RETRIES,
      answers: [{ status: 503 }, { status: 503 }, { status: 200 }],
    });
    await publish({ queue, id: 'm', data });
    expect(await finishedDelivery(queue, 'm')).toMatchObject({ status: 'exhausted' });
    expect((await shown(queue)) === data).toBe(true);

    await expireSoon(queue);
    await retryEnded({ queue, messageId: 'm', subscriptionId });
    await receiver.waitFor(path, 2);
    expect(await finishedDelivery(queue, 'm')).toMatchObject({ status: 'exhausted' });

    await expireSoon(queue);
    const [since, until] = [new Date(Date.now() - hour), new Date()].map((time) => time.toISOString());
    await answerOf('POST', `/v2/queues/${queue}/recoveries`, { since, until });
    await receiver.waitFor(path, 3);

    expect(await finishedDelivery(queue, 'm')).toMatchObject({ status: 'delivered' });
    expect(dataOf(path).map((one) => one === data)).toEqual([true, true, true]);
  });
});

describe('the remaining items of a subscription', () => {
  it('after a crash do not block a new subscription with the same URL', async () => {
    const { queue, path, subscriptionId } = await subscribedQueue(receiver);
    const Key = subscriptionItemKey(queue, subscriptionId);
    await dynamo.send(new DeleteCommand({ TableName: endpoints.subscriptionsTable, Key }));

    expect(await subscribe(queue, receiver.url(path))).not.toBe(subscriptionId);
  });

  it('after its deletion are removed when repeated requests can no longer need them', async () => {
    const { queue, subscriptionId } = await subscribedQueue(receiver);
    await deleteSubscription(queue, subscriptionId);
    const operation = {
      kind: 'cancellation' as const,
      queue,
      subscriptionId,
      deletedAt: Date.now() - 5 * hour,
    };
    await send(endpoints.operationQueueUrl, encodeOperation(operation));

    await eventually('the removal of the deletion mark', async () => {
      const Key = subscriptionItemKey(queue, subscriptionId);
      const { Item } = await dynamo.send(new GetCommand({ TableName: endpoints.subscriptionsTable, Key }));
      return Item === undefined ? true : undefined;
    });
  });
});
