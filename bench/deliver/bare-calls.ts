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
import { forEachJob, post, template, type Job } from './bare-post.ts';

/** The calls of ours with the same SDK and a POST by bare undici: nothing is parsed, decided, guarded, signed or logged. */

const client = DynamoDBDocumentClient.from(new DynamoDBClient(), {
  marshallOptions: { removeUndefinedValues: true },
});

type Wire = Record<string, AttributeValue>;

const { Item } = template.claim as { Item: Wire };
const claim = { ...template.claim, Item: unmarshall(Item) } as PutCommandInput;
const record = updateOf(template.record);
const chunkClaim = updateOf(template.chunkClaim);
const chunkRecord = updateOf(template.chunkRecord);

function updateOf(request: object): UpdateCommandInput {
  const { ExpressionAttributeValues } = request as { ExpressionAttributeValues: Wire };
  return {
    ...request,
    ExpressionAttributeValues: unmarshall(ExpressionAttributeValues),
  } as UpdateCommandInput;
}

const CACHED_MS = 5_000;

const found = new Map<string, { readAt: number; item: Promise<Record<string, unknown> | undefined> }>();

function cached(pk: string, sk: string): Promise<Record<string, unknown> | undefined> {
  const name = `${pk} ${sk}`;
  const known = found.get(name);
  if (known !== undefined && known.readAt > Date.now() - CACHED_MS) return known.item;
  const command = new GetCommand({ TableName: 'subscriptions', Key: { pk, sk }, ConsistentRead: true });
  const item = client.send(command).then(({ Item }) => Item);
  found.set(name, { readAt: Date.now(), item });
  return item;
}

async function subscriberOf(queue: string, subscriptionId: string): Promise<string> {
  const [, subscription] = await Promise.all([
    cached(`QUEUE#${queue}`, 'META'),
    cached(`QUEUE#${queue}`, `SUB#${subscriptionId}`),
  ]);
  return String(subscription?.['subscriber']);
}

export const handler = forEachJob(async (job: Job): Promise<void> => {
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
});
