import { randomUUID } from 'node:crypto';
import { PurgeQueueCommand, ReceiveMessageCommand, type Message } from '@aws-sdk/client-sqs';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { encodeFirstJob } from '../../shared/wire/jobs/delivery-job.ts';
import { finishedDelivery, putQueue, subscribe } from '../support/api-client.ts';
import { aMessage } from '../support/builders.ts';
import { onDeployment } from '../support/deployed-command.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publish, send, taken } from '../support/sqs-messages.ts';
import { subscribedQueue } from '../support/subscribed-queue.ts';

const { ingressQueueUrl, ingressDeadLetterUrl, deliveryDeadLetterUrl, operationDeadLetterUrl } =
  deployment.endpoints;

const receiver = await receiverOfTests();

beforeAll(async () => {
  // Removes dead letters of earlier tests. No other test uses these queues at the same time (vitest.config.ts).
  for (const QueueUrl of [ingressDeadLetterUrl, deliveryDeadLetterUrl, operationDeadLetterUrl])
    await deployment.sqs.send(new PurgeQueueCommand({ QueueUrl }));
});

const summary = z.strictObject({
  queue: z.enum(['ingress', 'delivery']),
  redriven: z.int(),
  skipped: z.int(),
  left: z.int(),
  hidden: z.int(),
});

const posthaste = (...args: string[]) => onDeployment(...args, '--json');

/** Runs `posthaste redrive` and returns its summary. */
const redrive = async (...args: string[]): Promise<z.infer<typeof summary>> => {
  const { status, stdout, stderr } = await posthaste('redrive', ...args);
  if (status !== 0) throw new Error(stderr + stdout);
  return summary.parse(JSON.parse(stdout));
};

/** Waits for a dead letter and leaves it where it is. */
const findDeadLetter = (isWanted: (message: Message) => boolean): Promise<Message> =>
  eventually('a dead letter', async () => {
    const { Messages = [] } = await deployment.sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: ingressDeadLetterUrl,
        MaxNumberOfMessages: 10,
        VisibilityTimeout: 0,
        MessageAttributeNames: ['All'],
      }),
    );
    return Messages.find(isWanted);
  });

const textOf = ({ MessageAttributes }: Message, name: string): string | undefined =>
  MessageAttributes?.[name]?.StringValue;

const idsAt = (path: string) => receiver.received(path).map(({ headers }) => headers['webhook-id']);

// Concurrent, because these tests mostly wait.
describe.concurrent('posthaste redrive on the deployed system', () => {
  it('delivers a message under its original id, a repeated redrive only once, and leaves invalid JSON', async () => {
    const { queue: other } = await subscribedQueue(receiver);
    const queue = `redrive-${randomUUID()}`;
    const twice = [JSON.stringify({ queue: other, data: 1 }), { 'posthaste-id': 'twice' }] as const;
    await send(ingressDeadLetterUrl, ...twice);
    const id = await send(ingressQueueUrl, JSON.stringify({ queue, data: { late: true } }));
    const invalid = `{"queue": "${queue}", "data": `;
    const invalidId = await send(ingressQueueUrl, invalid);
    await findDeadLetter((deadLetter) => textOf(deadLetter, 'posthaste-id') === id);
    const first = await findDeadLetter(({ Body }) => Body === invalid);
    await putQueue(queue);
    await subscribe(queue, receiver.url(`/${queue}`));

    expect(await redrive('ingress')).toMatchObject({ redriven: 2, skipped: 1 });

    expect(await finishedDelivery(queue, id)).toMatchObject({ status: 'delivered' });
    await finishedDelivery(other, 'twice');
    // Sent all the same, dispatch refuses it again.
    expect(await redrive('ingress', '--reason', 'not_json')).toMatchObject({ redriven: 1, skipped: 0 });
    const isAgain = ({ Body, MessageId }: Message) => Body === invalid && MessageId !== first.MessageId;
    const again = await taken(ingressDeadLetterUrl, isAgain);
    expect(textOf(again, 'reason')).toBe('not_json');
    expect(textOf(again, 'posthaste-id')).toBe(invalidId);
    expect(idsAt(`/${queue}`)).toEqual([id]);

    // Simulates a first run that stopped between sending the message and deleting the dead letter.
    await send(ingressDeadLetterUrl, ...twice);
    expect(await redrive('ingress', '--limit', '1')).toMatchObject({ redriven: 1 });
    await publish({ queue: other, id: 'after', data: 1 });
    await finishedDelivery(other, 'after');
    expect(idsAt(`/${other}`)).toEqual(['twice', 'after']);
  });

  it('delivers a dead-lettered job, and leaves a message that is not a job in the queue', async () => {
    const { queue, subscriptionId } = await subscribedQueue(receiver);
    const garbage = `garbage for ${queue}`;
    await send(deliveryDeadLetterUrl, garbage, { reason: 'not_json' });
    const key = { queue, messageId: 'dead', subscriptionId, bucket: 0 };
    const body = { kind: 'inline' as const, message: aMessage({ queue, id: 'dead' }) };
    const job = encodeFirstJob({ kind: 'job', key, attempt: 1, acceptedAt: Date.now(), body });
    await send(deliveryDeadLetterUrl, job);

    expect(await redrive('delivery')).toMatchObject({ redriven: 1, skipped: 1 });
    expect(await eventually('a request', () => Promise.resolve(idsAt(`/${queue}`)[0]))).toBe('dead');
    const left = await taken(deliveryDeadLetterUrl, ({ Body }) => Body === garbage);
    expect(textOf(left, 'reason')).toBe('not_json');
  });
});
