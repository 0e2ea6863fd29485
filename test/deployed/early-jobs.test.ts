import { randomUUID } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import { encodeFirstJob } from '../../shared/wire/jobs/delivery-job.ts';
import { putQueue, subscribe } from '../support/api-client.ts';
import { aMessage } from '../support/builders.ts';
import { deployment } from '../support/deployment.ts';
import { startReceiver } from '../support/receiver.ts';
import { send } from '../support/sqs-messages.ts';

const receiver = await startReceiver();
afterAll(receiver.close);

it('deliver sends back a job that arrives early, and makes its attempt when it is due', async () => {
  const queue = `early-${randomUUID()}`;
  await putQueue(queue);
  const subscriptionId = await subscribe(queue, receiver.url(`/${queue}`));
  const acceptedAt = Date.now();
  const dueAt = acceptedAt + 4_000;
  const job = encodeFirstJob({
    kind: 'job',
    key: { queue, messageId: 'm', subscriptionId, bucket: 0 },
    attempt: 1,
    acceptedAt,
    dueAt,
    body: { kind: 'inline', message: aMessage({ queue, id: 'm' }) },
  });
  await send(deployment.endpoints.deliveryQueueUrl, job);

  const [request] = await receiver.waitFor(`/${queue}`, 1);
  expect(request?.arrivedAt).toBeGreaterThanOrEqual(dueAt);
});
