import { readFileSync } from 'node:fs';
import { DynamoDBClient, type AttributeValue } from '@aws-sdk/client-dynamodb';
import {
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  UpdateCommand,
  type PutCommandInput,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { request } from 'undici';
import * as z from 'zod';

/**
 * The AWS calls of deliver with the same SDK and its POST with undici, without parsing, decisions, signatures or logs. With
 * `BENCH_POSTS_ONLY` it makes the POST alone.
 */

const wireRequest = z.record(z.string(), z.unknown());

/** The requests of deliver that this program repeats. */
const templateSchema = z.object({
  claim: wireRequest,
  record: wireRequest,
  chunkClaim: wireRequest,
  chunkRecord: wireRequest,
  headers: z.record(z.string(), z.string()),
  /** Of the subscribers, by subscription. */
  urls: z.record(z.string(), z.string()),
});

const template = templateSchema.parse(JSON.parse(readFileSync(process.env['BENCH_TEMPLATE'] ?? '', 'utf8')));

type Job = {
  queue: string;
  messageId: string;
  bucket: number;
  message: { id: string; queue: string; type: string; timestamp: string; data: unknown };
} & ({ kind: 'job'; subscriptionId: string } | { kind: 'chunk'; chunk: number; subscriptionIds: string[] });

const client = DynamoDBDocumentClient.from(new DynamoDBClient(), {
  marshallOptions: { removeUndefinedValues: true },
});

type Wire = Record<string, AttributeValue>;

const { Item } = template.claim as { Item: Wire };
const claim = { ...template.claim, Item: unmarshall(Item) } as PutCommandInput;
const record = updateOf(template.record);
const chunkClaim = updateOf(template.chunkClaim);
const chunkRecord = updateOf(template.chunkRecord);

function updateOf(update: object): UpdateCommandInput {
  const { ExpressionAttributeValues } = update as { ExpressionAttributeValues: Wire };
  return {
    ...update,
    ExpressionAttributeValues: unmarshall(ExpressionAttributeValues),
  } as UpdateCommandInput;
}

export async function handler({ Records }: { Records: readonly { body: string }[] }) {
  const work = process.env['BENCH_POSTS_ONLY'] === undefined ? deliver : postOnly;
  await Promise.all(Records.map(({ body }) => work(JSON.parse(body) as Job)));
  return { batchItemFailures: [] };
}

async function deliver(job: Job): Promise<void> {
  const pk = `${job.queue}#${job.messageId}#${job.bucket}`;
  const postTo = async (id: string) => post(await subscriberOf(job.queue, id), job);
  if (job.kind === 'chunk') {
    const Key = { pk, sk: `CHUNK#${job.chunk}` };
    await client.send(new UpdateCommand({ ...chunkClaim, Key }));
    await Promise.all(job.subscriptionIds.map(postTo));
    await client.send(new UpdateCommand({ ...chunkRecord, Key }));
    return;
  }
  const Key = { pk, sk: `DELIVERY#${job.subscriptionId}` };
  await client.send(new PutCommand({ ...claim, Item: { ...claim.Item, ...Key } }));
  await postTo(job.subscriptionId);
  await client.send(new UpdateCommand({ ...record, Key }));
}

async function postOnly(job: Job): Promise<void> {
  const ids = job.kind === 'chunk' ? job.subscriptionIds : [job.subscriptionId];
  await Promise.all(ids.map((id) => post(template.urls[id] ?? '', job)));
}

async function post(url: string, { message }: Job): Promise<void> {
  const { id, queue, type, timestamp, data } = message;
  const { body } = await request(url, {
    method: 'POST',
    headers: { ...template.headers, 'webhook-id': id },
    body: JSON.stringify({ id, queue, type, timestamp, data }),
  });
  await body.dump();
}

async function subscriberOf(queue: string, subscriptionId: string): Promise<string> {
  const [, subscription] = await Promise.all([
    cached(`QUEUE#${queue}`, 'META'),
    cached(`QUEUE#${queue}`, `SUB#${subscriptionId}`),
  ]);
  return String(subscription?.['subscriber']);
}

const CACHED_MS = 5_000;

const found = new Map<string, { readAt: number; item: Promise<Record<string, unknown> | undefined> }>();

function cached(pk: string, sk: string): Promise<Record<string, unknown> | undefined> {
  const name = `${pk} ${sk}`;
  const known = found.get(name);
  if (known !== undefined && known.readAt > Date.now() - CACHED_MS) return known.item;
  const command = new GetCommand({ TableName: 'subscriptions', Key: { pk, sk }, ConsistentRead: true });
  const item = client.send(command).then(({ Item: read }) => read);
  found.set(name, { readAt: Date.now(), item });
  return item;
}
