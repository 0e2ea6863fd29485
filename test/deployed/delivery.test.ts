import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { toItemKey } from '../../shared/adapters/dynamodb/deliveries/delivery-keys.ts';
import { deliveriesOf, finishedDelivery } from '../support/api-client.ts';
import { encodeFirstJob } from '../../shared/wire/jobs/delivery-job.ts';
import { aMessage } from '../support/builders.ts';
import { deployment, invoke } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publish, send, taken } from '../support/sqs-messages.ts';
import { subscribedQueue } from '../support/subscribed-queue.ts';

const {
  deliveriesTable,
  deliveryDeadLetterUrl,
  deliveryQueueUrl,
  functions,
  ingressQueueUrl,
  retryQueueUrl,
} = deployment.endpoints;

const receiver = await receiverOfTests();

describe('a webhook from the deployed system', () => {
  it('carries the data byte for byte, in the documented envelope with the documented headers', async () => {
    const { queue, path } = await subscribedQueue(receiver, {
      options: { post_headers: { 'x-tenant': 'blue' } },
    });
    const data = '{ "2": 1, "1": 12345678901234567890, "text": "\\u00e9\\/ é", "nothing": null }';
    await send(ingressQueueUrl, `{"queue":"${queue}","id":"m","type":"order.created","data":${data}}`);
    await finishedDelivery(queue, 'm');
    const [request] = receiver.received(path);

    expect(request?.body.toString()).toMatch(
      new RegExp(`^{"id":"m","queue":"${queue}","type":"order\\.created","timestamp":"[^"]+Z","data":`),
    );
    expect(request?.body.toString().slice(0, -1).endsWith(`"data":${data}`)).toBe(true);
    expect(request).toMatchObject({
      method: 'POST',
      headers: { 'content-type': 'application/json', 'webhook-id': 'm', 'x-tenant': 'blue' },
    });
    expect(Number(request?.headers['webhook-timestamp'])).toBeCloseTo(Date.now() / 1000, -2);
    expect(request?.headers['user-agent']).toMatch(/^Posthaste\/\d+\.\d+\.\d+/);
  });
});

describe('the safety net of the deployed system', () => {
  it('resumes a retry whose wake-up was lost', async () => {
    const policy = { retries_with_no_delay: 0, minimum_delay: 600, maximum_delay: 600 };
    const answers = [{ status: 500 }, { status: 200 }] as const;
    const { queue, subscriptionId } = await subscribedQueue(receiver, { policy, answers });
    await publish({ queue, id: 'm', data: 1 });
    await eventually('the first failure', async () =>
      (await deliveriesOf(queue, 'm'))?.find(({ status }) => status === 'retrying'),
    );
    // Moves the due time into the past, as if the schedule had not fired for ten minutes.
    await deployment.dynamo.send(
      new UpdateCommand({
        TableName: deliveriesTable,
        Key: toItemKey({ queue, messageId: 'm', subscriptionId, bucket: 0 }),
        UpdateExpression: 'SET overdueAt = :past, #next.dueAt = :past',
        ExpressionAttributeNames: { '#next': 'next' },
        ExpressionAttributeValues: { ':past': Date.now() - 600_000 },
      }),
    );
    await invoke(functions.reconcile);

    expect(await finishedDelivery(queue, 'm')).toMatchObject({
      status: 'delivered',
      attempts: [{}, { number: 2 }],
    });
  });

  it('dead-letters a wake-up that it cannot parse', async () => {
    const garbage = `not json: ${randomUUID()}`;
    await send(retryQueueUrl, garbage);
    const deadLetter = await taken(deliveryDeadLetterUrl, ({ Body }) => Body === garbage);
    expect(deadLetter.MessageAttributes?.['reason']?.StringValue).toBe('not_json');
  });
});

it('deliver sends back a job that arrives early, and makes its attempt when it is due', async () => {
  const { queue, path, subscriptionId } = await subscribedQueue(receiver);
  const acceptedAt = Date.now();
  const dueAt = acceptedAt + 4_000;
  const key = { queue, messageId: 'm', subscriptionId, bucket: 0 };
  const body = { kind: 'inline', message: aMessage({ queue, id: 'm' }) } as const;
  await send(deliveryQueueUrl, encodeFirstJob({ kind: 'job', key, attempt: 1, acceptedAt, dueAt, body }));
  const [request] = await receiver.waitFor(path, 1);
  expect(request?.arrivedAt).toBeGreaterThanOrEqual(dueAt);
});
