import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { queuePartition } from '../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import { awsStub } from '../../test/support/aws-stub.ts';
import { answerOf, type Item, type ListSize, listOf } from './lists.ts';

const request = z.looseObject({
  TableName: z.string().exactOptional(),
  Key: z.custom<Item>().exactOptional(),
  Item: z.custom<Item>().exactOptional(),
  ExclusiveStartKey: z.custom<Item>().exactOptional(),
  ProjectionExpression: z.string().exactOptional(),
  UpdateExpression: z.string().exactOptional(),
  ConditionExpression: z.string().exactOptional(),
  KeyConditionExpression: z.string().exactOptional(),
  ExpressionAttributeNames: z.record(z.string(), z.string()).default({}),
  ExpressionAttributeValues: z.custom<Item>().default({}),
  Entries: z.array(z.object({ Id: z.string(), MessageBody: z.string() })).default([]),
});

type Request = z.output<typeof request>;

class Refused extends Error {
  readonly item: Item;

  constructor(item: Item) {
    super('The conditional request failed');
    this.item = item;
  }
}

/**
 * AWS for dispatch, on loopback: lists of subscriptions in DynamoDB's pages, conditional records of messages, and a delivery
 * queue that counts the subscriptions that jobs are for. It ends with the stack.
 */
export async function startStub(stack: AsyncDisposableStack, queues: Readonly<Record<string, ListSize>>) {
  const lists = new Map(
    Object.entries(queues).map(([queue, size]) => [queuePartition(queue), listOf(queue, size)]),
  );
  const records = new Map<string, Item>();
  const sentTo = new Map<string, Set<string>>();
  const sentAt = new Map<string, number>();
  let [calls, jobs]: [Record<string, number>, number] = [{}, 0];

  const query = (asked: Request): string => {
    const values = asked.ExpressionAttributeValues;
    // A later page is of a queue that is read again, by its key.
    const list = lists.get((values[':queue'] ?? values[':pk'])?.S ?? '');
    return list === undefined ? '{"Items":[]}' : answerOf(list, asked);
  };

  const put = ({ Item = {} }: Request): object => {
    const known = records.get(nameOf(Item));
    if (known !== undefined) throw new Refused(known);
    records.set(nameOf(Item), Item);
    return {};
  };

  const update = (asked: Request): object => {
    const known = records.get(nameOf(asked.Key ?? {})) ?? {};
    if (!holds(known, asked)) throw new Refused(known);
    const Attributes = updated(known, asked);
    records.set(nameOf(Attributes), Attributes);
    return { Attributes };
  };

  const send = ({ Entries }: Request): object => {
    for (const { MessageBody } of Entries) {
      const { messageId, subscriptionIds } = addresseesIn(MessageBody);
      const known = sentTo.get(messageId) ?? new Set();
      for (const id of subscriptionIds) known.add(id);
      sentTo.set(messageId, known);
      sentAt.set(messageId, performance.now());
    }
    jobs += Entries.length;
    return { Successful: Entries.map(({ Id }) => ({ Id, MessageId: Id, MD5OfMessageBody: '' })) };
  };

  const answers: Record<string, (asked: Request) => object | string> = {
    Query: query,
    PutItem: put,
    UpdateItem: update,
    SendMessageBatch: send,
    ChangeMessageVisibility: () => ({}),
  };

  const stub = await awsStub(
    ({ headers, body }) => {
      const operation = String(headers['x-amz-target']).split('.')[1] ?? '';
      calls[operation] = (calls[operation] ?? 0) + 1;
      const answer = answers[operation];
      if (answer === undefined) throw new Error(`The stub knows no ${operation}.`);
      try {
        const answered = answer(request.parse(JSON.parse(body)));
        return { body: typeof answered === 'string' ? answered : JSON.stringify(answered) };
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        const type = 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException';
        return {
          status: 400,
          body: JSON.stringify({ __type: type, message: error.message, Item: error.item }),
        };
      }
    },
    { keepsRequests: false },
  );
  stack.defer(stub.close);

  return {
    endpoint: stub.config.endpoint,
    /** Subscriptions with a job of the message. */
    reached: (messageId: string): number => sentTo.get(messageId)?.size ?? 0,
    /** Stores a record as an earlier version of dispatch left it. */
    keep: (item: Record<string, unknown>): void => {
      const marshalled = marshall(item, { removeUndefinedValues: true });
      records.set(nameOf(marshalled), marshalled);
    },
    /** When the last job of a message was sent, by performance.now(). */
    sentAt: (messageId: string): number => sentAt.get(messageId) ?? 0,
    /** Since this was last asked. */
    take: () => {
      const taken = { calls, jobs };
      [calls, jobs] = [{}, 0];
      return taken;
    },
  };
}

export type Stub = Awaited<ReturnType<typeof startStub>>;

function nameOf({ pk, sk }: Item): string {
  return `${pk?.S ?? ''} ${sk?.S ?? ''}`;
}

const job = z.object({
  messageId: z.string(),
  subscriptionId: z.string().exactOptional(),
  subscriptionIds: z.array(z.string()).exactOptional(),
});

function addresseesIn(text: string): { messageId: string; subscriptionIds: readonly string[] } {
  const { messageId, subscriptionId = '', subscriptionIds = [subscriptionId] } = job.parse(JSON.parse(text));
  return { messageId, subscriptionIds };
}

function holds(item: Item, { ConditionExpression = '', ExpressionAttributeValues }: Request): boolean {
  const parts = item['parts']?.L?.length;
  if (ConditionExpression.includes('attribute_not_exists(#parts)')) return parts === undefined;
  const counted = /size\(#parts\) = (:\w+)/.exec(ConditionExpression)?.[1];
  return counted === undefined || String(parts) === ExpressionAttributeValues[counted]?.N;
}

/** A message's record after either update of dispatch: one more duplicate, or one more part. */
function updated(item: Item, asked: Request): Item {
  const [sets = '', sums = ''] = (asked.UpdateExpression ?? '').split('ADD ');
  const values = asked.ExpressionAttributeValues;
  const lists = [...sets.matchAll(APPENDED)].map(([, name = '', value = '']): [string, AttributeValue] => [
    name,
    { L: [...listIn(item[name]), ...listIn(values[value])] },
  ]);
  const numbers = [...sums.matchAll(ADDED)].map(([, name = '', value = '']): [string, AttributeValue] => [
    name,
    { N: String(numberIn(item[name]) + numberIn(values[value])) },
  ]);
  const changed = { ...item, ...asked.Key, ...Object.fromEntries([...lists, ...numbers]) };
  return sets.includes('#until') ? withUntil(changed, values[UNTIL.exec(sets)?.[1] ?? '']) : changed;
}

function withUntil({ until: _before, ...item }: Item, until: AttributeValue | undefined): Item {
  return until === undefined ? item : { ...item, until };
}

const UNTIL = /#until = (:\w+)/;
const APPENDED = /#(\w+) = list_append\(.*?, :\w+\), (:\w+)\)/g;
const ADDED = /#?(\w+) (:\w+)/g;

function listIn(value: AttributeValue | undefined): readonly AttributeValue[] {
  return value?.L ?? [];
}

function numberIn(value: AttributeValue | undefined): number {
  return Number(value?.N ?? 0);
}
