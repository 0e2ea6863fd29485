import { hash } from 'node:crypto';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import {
  toQueueItem,
  toSubscriptionItem,
} from '../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import { sealBox } from '../../shared/adapters/kms/signing-secrets.ts';
import { variables } from '../../shared/config/resources.ts';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { makeSecret, secretText } from '../../shared/domain/subscription/signing-secret.ts';
import { awsStub, type StubAnswer, type StubRequest } from '../../test/support/aws-stub.ts';
import { stubQueues } from './stub-queues.ts';
import { updated } from './updated-item.ts';
import { completeEnvironment, QUEUE as QUEUE_URL } from '../../test/support/complete-environment.ts';

/** Calls by operation; `POST` counts requests to subscribers. */
export type Counts = Record<string, number>;

export type StubAws = Awaited<ReturnType<typeof startStubAws>>;

export function subscriptionIdAt(index: number): string {
  return `subscription-${String(index).padStart(5, '0')}`;
}

/** KMS decrypts every key to this one. */
const DATA_KEY = Buffer.alloc(32);

/** Bytes of a data key of 256 bits that KMS has encrypted. */
const ENCRYPTED_KEY = 184;

type Item = Record<string, AttributeValue>;

const item = z.custom<Item>().default({});
const dynamoRequest = z.object({
  IndexName: z.string().optional(),
  Key: item,
  Item: item,
  UpdateExpression: z.string().default(''),
  ExpressionAttributeNames: z.record(z.string(), z.string()).default({}),
  ExpressionAttributeValues: item,
});

type DynamoRequest = z.output<typeof dynamoRequest>;

const anyRequest = z.looseObject({});
const entry = z.object({ Id: z.string(), MessageBody: z.string() });
const batch = z.object({ QueueUrl: z.string(), Entries: z.array(entry).default([]) });

type StubOptions = {
  /** Each at a separate origin. */
  subscribers: number;
  /** The certificate of the stub for 127.0.0.1, for calls by TLS. */
  tls?: { cert: string; key: string };
  /** Holds receives of empty queues, as SQS does. @default false: it answers them at once */
  longPolls?: boolean;
  /** Milliseconds until AWS answers, and until a subscriber does. @default at once */
  delays?: { aws: number; subscriber: number };
};

/** `urlOf`: of a subscriber, by its index. @default one of the stub's, and the policy of the deployment */
type QueueOptions = { urlOf?: (index: number) => string; policy?: PartialRetryPolicy };

/**
 * AWS and subscribers on loopback, in the process of the bench. All goes well: reads find subscriptions, writes succeed, and
 * subscribers answer with 200. It ends with the stack.
 */
export async function startStubAws(
  stack: AsyncDisposableStack,
  { subscribers: count, tls, longPolls = false, delays }: StubOptions,
) {
  const lists = new Map<string, readonly Item[]>();
  const subscriptions = new Map<string, Item>();
  const deliveries = new Map<string, Item>();
  const objects = new Map<string, string>();
  let notify: (messageId: string) => void = () => undefined;
  const last = { claim: {}, record: {}, chunkClaim: {}, chunkRecord: {}, headers: {} };
  const queues = stubQueues({ longPolls });
  let counts: Counts = {};

  const update = (request: DynamoRequest, asked: object): object => {
    const { Key, UpdateExpression } = request;
    if (!isChunk(Key)) last.record = asked;
    else if (UpdateExpression.includes('#lease = ')) last.chunkClaim = asked;
    else last.chunkRecord = asked;
    const name = nameOf(Key);
    const Attributes = updated(deliveries.get(name) ?? subscriptions.get(name) ?? Key, request);
    if (isOver(Attributes)) deliveries.delete(name);
    else if (deliveries.has(name) || isChunk(Attributes)) deliveries.set(name, Attributes);
    return { Attributes };
  };

  /** Conditions always hold. Indexes are empty, as nothing is overdue. Finished records are removed. */
  const dynamoAnswers: Readonly<Record<string, (request: DynamoRequest, asked: object) => object>> = {
    GetItem: ({ Key }) => ({ Item: subscriptions.get(nameOf(Key)) }),
    Query: ({ IndexName, ExpressionAttributeValues: values }) => {
      const list = lists.get(values[':queue']?.S ?? '');
      return { Items: IndexName === undefined && list !== undefined ? list : [] };
    },
    PutItem: ({ Item: put }, asked) => {
      last.claim = asked;
      if (put['sk']?.S?.startsWith('DELIVERY#')) deliveries.set(nameOf(put), put);
      return {};
    },
    // Counters are written once a second, beside the records.
    UpdateItem: (request, asked) => (isCounters(request.Key) ? {} : update(request, asked)),
  };

  const sqsAnswer = (operation: string, request: object): object | Promise<object> => {
    if (operation === 'ReceiveMessage') return queues.receive(request);
    if (operation === 'DeleteMessageBatch') return queues.remove(request);
    if (operation === 'SendMessage') return { MessageId: 'message' };
    // None: the function returns a message that it failed.
    const { QueueUrl, Entries } = batch.parse(request);
    const bodies = Entries.map(({ MessageBody }) => MessageBody);
    if (QueueUrl.endsWith('-delivery')) queues.add('delivery', bodies);
    return { Successful: Entries.map(sent) };
  };

  const answerTo = (target: string, request: object): object | Promise<object> => {
    const [service = '', operation = ''] = target.split('.');
    counts[operation] = (counts[operation] ?? 0) + 1;
    switch (service) {
      case 'DynamoDB_20120810': {
        const answer = dynamoAnswers[operation];
        if (answer === undefined) throw new Error(`The stub knows no ${target}.`);
        return answer(dynamoRequest.parse(request), request);
      }
      case 'AmazonSQS':
        return sqsAnswer(operation, request);
      case 'AWSEvents':
        return { FailedEntryCount: 0, Entries: [{ EventId: 'event' }] };
      case 'TrentService':
        return { Plaintext: DATA_KEY.toString('base64') };
      default:
        throw new Error(`The stub knows no ${target}.`);
    }
  };

  const started = async (answer: Parameters<typeof awsStub>[0]): Promise<string> => {
    const server = await awsStub(answer, { tls, keepsRequests: false });
    stack.defer(server.close);
    return server.config.endpoint;
  };
  /** S3 alone names no operation. */
  const objectAt = ({ method, path, body }: StubRequest): StubAnswer => {
    if (method === 'PUT') objects.set(pathname(path), body);
    return { body: objects.get(pathname(path)) ?? '', afterMs: delays?.aws };
  };
  const endpoint = await started((request) => {
    const target = request.headers['x-amz-target'];
    if (target === undefined) return objectAt(request);
    const answer = answerTo(String(target), anyRequest.parse(JSON.parse(request.body)));
    return answer instanceof Promise ? answer.then(asBody) : { ...asBody(answer), afterMs: delays?.aws };
  });
  const subscriber = () =>
    started(({ headers }) => {
      counts['POST'] = (counts['POST'] ?? 0) + 1;
      last.headers = headers;
      notify(String(headers['webhook-id']));
      return { body: 'ok', afterMs: delays?.subscriber };
    });
  const subscribers = await Promise.all(Array.from({ length: count }, subscriber));
  const subscriberAt = (index: number): string => `${subscribers[index % count] ?? ''}/hook/${index}`;

  return {
    environment: environmentAt(endpoint),
    /** The URL of a subscription. */
    subscriberAt,
    /** Each subscription has a separate secret. */
    addQueue: (
      queue: string,
      fanOut: number,
      { urlOf = subscriberAt, policy = {} }: QueueOptions = {},
    ): void => {
      const items = [
        toQueueItem({ name: queue, metadata: { _retry_policy: policy }, createdAt: 0 }),
        ...Array.from({ length: fanOut }, (_, index) =>
          toSubscriptionItem({
            id: subscriptionIdAt(index),
            queue,
            destination: { kind: 'webhook', url: urlOf(index) },
            options: {},
            createdAt: 0,
            secrets: [{ sealed: sealedFor(queue, index) }],
          }),
        ),
      ].map((item) => marshall(item, { removeUndefinedValues: true }));
      for (const item of items) subscriptions.set(nameOf(item), item);
      lists.set(items[0]?.['pk']?.S ?? '', items);
    },
    queues,
    /** Called with each request to a subscriber. */
    onPost: (listener: (messageId: string) => void): void => {
      notify = listener;
    },
    /** Since the last call. */
    takeCounts: (): Counts => {
      const taken = counts;
      counts = {};
      return taken;
    },
    /** The last claim and record of a delivery and of a chunk, and the headers of the last POST. */
    lastRequests: (): Readonly<Record<keyof typeof last, object>> => last,
  };
}

/** Without the query, which names the SDK's operation. */
function pathname(path: string): string {
  return new URL(path, 'http://stub').pathname;
}

function asBody(answer: object): { body: string } {
  return { body: JSON.stringify(answer) };
}

function sent({ Id, MessageBody }: z.output<typeof entry>): object {
  return { Id, MessageId: Id, MD5OfMessageBody: hash('md5', MessageBody) };
}

/** As KMS's data key would have sealed it (shared/adapters/kms/signing-secrets.ts). */
function sealedFor(queue: string, index: number): string {
  const secret = makeSecret('v1', (bytes) => new Uint8Array(bytes).fill(index));
  const box = sealBox(DATA_KEY, secretText(secret), JSON.stringify([queue, subscriptionIdAt(index)]));
  return ['1', Buffer.alloc(ENCRYPTED_KEY).toString('base64url'), box.toString('base64url')].join('.');
}

/** Left out: callers of the API sign their requests here, as by default. */
const OF_TOKENS: ReadonlySet<string> = new Set([variables.jwtScopes, variables.jwtQueuesClaim]);

/** The variables of every function and those of Lambda, for AWS at one address. */
export function environmentAt(endpoint: string): Record<string, string> {
  const own = Object.entries(completeEnvironment)
    .filter(([name]) => !OF_TOKENS.has(name))
    .map(([name, value]) => [name, value.replaceAll(new URL(QUEUE_URL).origin, endpoint)] as const);
  return {
    ...Object.fromEntries(own),
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'bench',
    AWS_SECRET_ACCESS_KEY: 'bench',
    AWS_LAMBDA_FUNCTION_NAME: 'measured',
    // Log lines have a trace, as in Lambda.
    _X_AMZN_TRACE_ID: 'Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=0',
  };
}

function isCounters({ pk }: Item): boolean {
  return pk?.S?.endsWith('#statistics') === true;
}

function isChunk({ sk }: Item): boolean {
  return sk?.S?.startsWith('CHUNK#') === true;
}

function nameOf({ pk, sk }: Item): string {
  return `${pk?.S ?? ''} ${sk?.S ?? ''}`;
}

function isOver(item: Item): boolean {
  return isChunk(item) ? item['lease'] === undefined : item['status']?.S === 'delivered';
}
