import { hash } from 'node:crypto';
import { marshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { queueItemOf, subscriptionItemOf } from '../../shared/adapters/dynamodb/subscription-item.ts';
import { variables } from '../../shared/config/resources.ts';
import { sealBox } from '../../shared/adapters/kms/signing-secrets.ts';
import { makeSecret, secretText } from '../../shared/domain/subscription/signing-secret.ts';
import { completeEnvironment, QUEUE as QUEUE_URL } from '../../test/support/complete-environment.ts';
import { awsStub, type StubRequest } from '../../test/support/aws-stub.ts';
import { type DynamoRequest, dynamoStub, isChunk } from './stub-dynamo.ts';

/** How often what was asked; `POST` is what subscribers got. */
export type Counts = Record<string, number>;

export type StubAws = {
  /** What a function needs to find the stub, and the variables that Lambda sets itself. */
  environment: Readonly<Record<string, string>>;
  /** Makes a queue with so many subscriptions, each with a secret of its own. */
  addQueue: (name: string, fanOut: number) => void;
  /** The URL of a subscription. */
  subscriberAt: (index: number) => string;
  /** The bodies of the messages that were sent in batches since this was last asked. */
  takeJobs: () => string[];
  takeCounts: () => Counts;
  /** As they came over the wire: the last claim and the last record of an attempt, the same of a chunk, and the headers of the last POST. */
  lastRequests: () => Readonly<Record<'claim' | 'record' | 'chunkClaim' | 'chunkRecord' | 'headers', object>>;
};

export function subscriptionIdAt(index: number): string {
  return `subscription-${String(index).padStart(5, '0')}`;
}

/** What KMS makes of every key that it has encrypted. */
const DATA_KEY = Buffer.alloc(32);

/** Bytes of a data key of 256 bits that KMS has encrypted. */
const ENCRYPTED_KEY = 184;

type StubOptions = {
  /** Each is another origin. */
  subscribers: number;
  /** The stub's certificate for 127.0.0.1, where it is called by TLS. */
  tls?: { cert: string; key: string };
};

/**
 * AWS and subscribers on loopback, in the process of the bench, where what they do costs the measured process nothing. All
 * goes well: reads find subscriptions, writes succeed, and subscribers take everything. It ends with the stack.
 */
export async function startStubAws(
  stack: AsyncDisposableStack,
  { subscribers: count, tls }: StubOptions,
): Promise<StubAws> {
  const dynamo = dynamoStub();
  const last = { claim: {}, record: {}, chunkClaim: {}, chunkRecord: {}, headers: {} };
  let [jobs, counts]: [string[], Counts] = [[], {}];

  const answerTo = (target: string, request: unknown): object => {
    const [service = '', operation = ''] = target.split('.');
    counts[operation] = (counts[operation] ?? 0) + 1;
    switch (service) {
      case 'DynamoDB_20120810': {
        const asked = dynamoRequest.parse(request);
        remember(operation, asked);
        return dynamo.answer(operation, asked);
      }
      case 'AmazonSQS': {
        const { Entries } = batch.parse(request);
        jobs.push(...Entries.map(({ MessageBody }) => MessageBody));
        return { Successful: Entries.map(sent) };
      }
      case 'TrentService':
        return { Plaintext: DATA_KEY.toString('base64') };
      default:
        throw new Error(`The stub knows no ${target}.`);
    }
  };

  const remember = (operation: string, request: DynamoRequest): void => {
    if (operation === 'PutItem') last.claim = request;
    if (operation !== 'UpdateItem') return;
    if (!isChunk(request.Key ?? {})) last.record = request;
    else if (request.UpdateExpression?.includes('#lease = ') === true) last.chunkClaim = request;
    else last.chunkRecord = request;
  };

  const started = async (answer: (request: StubRequest) => string): Promise<string> => {
    const server = await awsStub((request) => ({ body: answer(request) }), { tls, keepsRequests: false });
    stack.defer(server.close);
    return server.config.endpoint;
  };
  const endpoint = await started(({ headers, body }) =>
    JSON.stringify(answerTo(String(headers['x-amz-target']), JSON.parse(body))),
  );
  const subscriber = () =>
    started(({ headers }) => {
      counts['POST'] = (counts['POST'] ?? 0) + 1;
      last.headers = headers;
      return 'ok';
    });
  const subscribers = await Promise.all(Array.from({ length: count }, subscriber));
  const subscriberAt = (index: number): string => `${subscribers[index % count] ?? ''}/hook/${index}`;

  return {
    environment: environmentAt(endpoint),
    subscriberAt,
    addQueue: (queue, fanOut) => {
      const subscriptions = Array.from({ length: fanOut }, (_, index) =>
        subscriptionItemOf({
          id: subscriptionIdAt(index),
          queue,
          subscriber: subscriberAt(index),
          options: {},
          createdAt: 0,
          secrets: [{ sealed: sealedFor(queue, index) }],
        }),
      );
      const items = [queueItemOf({ name: queue, metadata: {}, createdAt: 0 }), ...subscriptions];
      dynamo.addQueue(items.map((item) => marshall(item, { removeUndefinedValues: true })));
    },
    takeJobs: () => {
      const taken = jobs;
      jobs = [];
      return taken;
    },
    takeCounts: () => {
      const taken = counts;
      counts = {};
      return taken;
    },
    lastRequests: () => last,
  };
}

const dynamoRequest = z.custom<DynamoRequest>((value) => typeof value === 'object');
const batch = z.object({ Entries: z.array(z.object({ Id: z.string(), MessageBody: z.string() })) });

function sent({ Id, MessageBody }: { Id: string; MessageBody: string }): object {
  return { Id, MessageId: Id, MD5OfMessageBody: hash('md5', MessageBody) };
}

/** As KMS's data key would have sealed it (shared/adapters/kms/signing-secrets.ts). */
function sealedFor(queue: string, index: number): string {
  const secret = makeSecret('v1', (bytes) => new Uint8Array(bytes).fill(index));
  const box = sealBox(DATA_KEY, secretText(secret), JSON.stringify([queue, subscriptionIdAt(index)]));
  return ['1', Buffer.alloc(ENCRYPTED_KEY).toString('base64url'), box.toString('base64url')].join('.');
}

/** Callers of the API sign their requests here, as by default. */
const OF_TOKENS: ReadonlySet<string> = new Set([variables.jwtScopes, variables.jwtQueuesClaim]);

/** The variables of every function, for AWS at one address: queues are asked where their URL says. */
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
    // So that log lines have a trace, as they do in Lambda.
    _X_AMZN_TRACE_ID: 'Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=0',
  };
}
