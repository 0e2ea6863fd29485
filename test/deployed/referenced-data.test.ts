import { createHash, randomUUID } from 'node:crypto';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { answerOf, finishedDelivery } from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import { eventSources } from '../support/event-sources.ts';
import { eventually } from '../support/eventually.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { send, taken } from '../support/sqs-messages.ts';
import { subscribedQueue } from '../support/subscribed-queue.ts';

const { ingressDeadLetterUrl, ingressQueueUrl } = deployment.endpoints;
const { bucket, prefix } = eventSources.producer;
const s3 = new S3Client({ ...deployment.client, forcePathStyle: true });
const receiver = await receiverOfTests();
const { queue, path } = await subscribedQueue(receiver);

beforeAll(async () => {
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
  const VersioningConfiguration = { Status: 'Enabled' as const };
  await s3.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration }));
});

type Reference = { bucket: string; key: string; versionId?: string };

const put = async (key: string, Body: string): Promise<Reference> => {
  const { VersionId } = await s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body }));
  return { bucket, key, ...(VersionId === undefined ? {} : { versionId: VersionId }) };
};

const publish = (id: string, dataRef: Reference): Promise<string> =>
  send(ingressQueueUrl, JSON.stringify({ queue, id, dataRef }));

const hash = (text: string): string => createHash('sha256').update(text).digest('base64');

const requestOf = (id: string) => receiver.received(path).find(({ headers }) => headers['webhook-id'] === id);

const message = z.object({ duplicates: z.number() });

describe('a message that refers to its data in a bucket of its producer', () => {
  it('is delivered byte for byte at 1 MiB, and a duplicate without the object causes no error', async () => {
    const [id, key] = [randomUUID(), `${prefix}${randomUUID()} é.json`];
    const data = `{ "2": 1e400, "1": "${'é'.repeat(524_270)}" }`;
    expect(Buffer.byteLength(data)).toBeGreaterThan(1_048_560);
    await put(key, data);
    await publish(id, { bucket, key });
    await finishedDelivery(queue, id);
    const body = requestOf(id)?.body.toString() ?? '';
    expect(hash(body.slice(body.indexOf('"data":') + '"data":'.length, -1))).toBe(hash(data));

    await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }));
    await publish(id, { bucket, key });
    await eventually('the recorded duplicate', async () => {
      const answer = await answerOf('GET', `/v2/queues/${queue}/messages/${id}`);
      return message.parse(answer).duplicates === 1 ? true : undefined;
    });
  });

  it('is delivered with the object version that it names', async () => {
    const [id, key] = [randomUUID(), `${prefix}${randomUUID()}.json`];
    const first = await put(key, '"first"');
    await put(key, '"second"');
    await publish(id, first);
    await finishedDelivery(queue, id);

    expect(JSON.parse(requestOf(id)?.body.toString() ?? '')).toMatchObject({ data: 'first' });
  });

  it.each<[string, () => Promise<Reference>]>([
    ['data_ref_forbidden', () => put(`private/${randomUUID()}.json`, '1')],
    ['data_ref_missing', () => Promise.resolve({ bucket, key: `${prefix}${randomUUID()}` })],
    ['data_ref_too_large', () => put(`${prefix}${randomUUID()}`, `"${'x'.repeat(1_048_575)}"`)],
    ['data_ref_not_json', () => put(`${prefix}${randomUUID()}`, 'hello')],
  ])('is dead-lettered with the reason %s', async (reason, make) => {
    const [id, { bucket: of, key }] = [randomUUID(), await make()];
    await publish(id, { bucket: of, key });
    const deadLetter = await taken(ingressDeadLetterUrl, ({ Body }) => Body?.includes(id) === true);

    expect(deadLetter.MessageAttributes?.['reason']?.StringValue).toBe(reason);
  });
});
