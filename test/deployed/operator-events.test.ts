import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import { subscriptionItemKey } from '../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import { callApi, finishedDelivery } from '../support/api-client.ts';
import { aBarePolicy } from '../support/builders.ts';
import { deployment } from '../support/deployment.ts';
import { operatorEvents } from '../support/operator-events.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publish } from '../support/sqs-messages.ts';
import { type SubscribedQueue, subscribedQueue } from '../support/subscribed-queue.ts';

const DAY = 24 * 60 * 60 * 1000;

const receiver = await receiverOfTests();
const eventOf = operatorEvents();

/** A queue without retries, with one subscriber that responds with this status. */
const subscribed = (status: number): Promise<SubscribedQueue> =>
  subscribedQueue(receiver, { policy: aBarePolicy(), answers: [{ status }] });

/** Sets the failures of a subscription, to simulate days of failures. */
const failedBefore = async (
  { queue, subscriptionId }: SubscribedQueue,
  failing: { since: number; failures: number },
): Promise<void> => {
  await deployment.dynamo.send(
    new UpdateCommand({
      TableName: deployment.endpoints.subscriptionsTable,
      Key: subscriptionItemKey(queue, subscriptionId),
      UpdateExpression: 'SET failing = :failing',
      ExpressionAttributeValues: { ':failing': failing },
    }),
  );
};

const deliveryOf = async ({ queue }: SubscribedQueue, id: string) => {
  await publish({ queue, id, data: {} });
  return finishedDelivery(queue, id);
};

const viewOf = async ({ queue, subscriptionId }: SubscribedQueue): Promise<unknown> =>
  (await callApi('GET', `/v2/queues/${queue}/subscriptions/${subscriptionId}`)).json();

const rfc3339 = (time: number): string => new Date(time).toISOString();

// Concurrent, because these tests mostly wait.
describe.concurrent('an operator with a rule on the event bus', () => {
  it('gets an event for an exhausted delivery', async () => {
    const about = await subscribed(500);
    const { queue, subscriptionId } = about;
    const { attempts } = await deliveryOf(about, 'm');
    const { detail } = await eventOf(queue, 'delivery.exhausted');
    const [first] = attempts;
    expect(detail).toEqual({
      deployment: 'Posthaste',
      queue,
      subscriptionId,
      messageId: 'm',
      attempts: 1,
      at: rfc3339(Date.parse(first?.startedAt ?? '') + (first?.durationMs ?? 0)),
    });
  });

  it('gets an event for a subscription that is disabled by a 410', async () => {
    const about = await subscribed(410);
    await deliveryOf(about, 'm');
    const { detail } = await eventOf(about.queue, 'subscription.disabled');
    expect(detail).toMatchObject({ subscriptionId: about.subscriptionId, reason: 'gone' });
    expect(await viewOf(about)).toMatchObject({
      disabled: { reason: 'gone', at: 'at' in detail ? detail.at : undefined },
    });
  });

  it('gets an event for a failing subscription, and another when it is disabled', async () => {
    const about = await subscribed(503);
    const since = Date.now() - 6 * DAY;
    await failedBefore(about, { since, failures: 19 });
    await deliveryOf(about, 'twentieth');
    const failing = await eventOf(about.queue, 'subscription.failing');
    expect(failing.detail).toMatchObject({ since: rfc3339(since), failures: 20 });

    // In reality the failures in between are hours apart.
    await failedBefore(about, { since, failures: 30 });
    await deliveryOf(about, 'one-more');
    const disabled = await eventOf(about.queue, 'subscription.disabled');
    expect(disabled.detail).toMatchObject({ subscriptionId: about.subscriptionId, reason: 'failing' });
    expect(await deliveryOf(about, 'too-late')).toMatchObject({ status: 'cancelled', reason: 'disabled' });
    expect(receiver.received(`/${about.queue}`)).toHaveLength(2);
  });

  it('gets an event for a manually disabled subscription', async () => {
    const about = await subscribed(200);
    const answer = await callApi(
      'POST',
      `/v2/queues/${about.queue}/subscriptions/${about.subscriptionId}/disable`,
    );
    expect(answer.status).toBe(200);
    const { detail } = await eventOf(about.queue, 'subscription.disabled');
    expect(detail).toMatchObject({ subscriptionId: about.subscriptionId, reason: 'manual' });
  });
});
