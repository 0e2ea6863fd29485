import { inspect } from 'node:util';
import { PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { DecryptCommand } from '@aws-sdk/client-kms';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { CreateScheduleCommand } from '@aws-sdk/client-scheduler';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Invocation } from '../../../../shared/adapters/aws/client-options.ts';
import { dynamoClient } from '../../../../shared/adapters/dynamodb/client.ts';
import { eventBridgeClient } from '../../../../shared/adapters/eventbridge/operator-events.ts';
import { kmsClient } from '../../../../shared/adapters/kms/signing-secrets.ts';
import { s3Client } from '../../../../shared/adapters/s3/payloads.ts';
import { schedulerClient } from '../../../../shared/adapters/scheduler/wake-ups.ts';
import { sqsClient } from '../../../../shared/adapters/sqs/client.ts';
import type { StubAnswer } from '../../../support/aws-stub.ts';
import { inMemoryJournal } from '../../../support/in-memory/in-memory-journal.ts';
import { fault, ok, serviceThat } from '../service.ts';

/** Clients of the services that every delivery needs. */
const deliveryClients = ['DynamoDB', 'KMS', 'SQS'] as const;
const everyClient = [...deliveryClients, 'EventBridge', 'S3', 'Scheduler'] as const;

type Client = (typeof everyClient)[number];

/** Succeeds for every call: KMS must return a key, SQS a message id. */
const SUCCESS: StubAnswer = { body: '{"Plaintext":"AQ==","MessageId":"1"}' };

/** A service that gives these answers in order, the last one repeatedly, and a call to it by every client. */
const called = async (answers: readonly StubAnswer[] = [SUCCESS], invocation: Invocation = {}) => {
  const service = await serviceThat((_, index) => answers[Math.min(index, answers.length - 1)] ?? SUCCESS);
  const options = { ...service.options, ...invocation };
  return { options, calls: callsOf(options), requests: service.requests };
};

type Options = Parameters<typeof dynamoClient>[0] &
  Parameters<typeof sqsClient>[0] &
  Parameters<typeof s3Client>[0];

/** A call by each client. The clients are created here, so they see the current environment. */
const callsOf = (options: Options): Record<Client, () => Promise<unknown>> => {
  const dynamo = dynamoClient(options);
  const kms = kmsClient(options);
  const sqs = sqsClient(options);
  const eventBridge = eventBridgeClient(options);
  const s3 = s3Client(options);
  const scheduler = schedulerClient(options);
  const schedule = {
    Name: 'name',
    ScheduleExpression: 'at(2026-01-01T00:00:00)',
    FlexibleTimeWindow: { Mode: 'OFF' },
    Target: { Arn: 'arn', RoleArn: 'arn' },
  } as const;
  return {
    DynamoDB: () => dynamo.get({ TableName: 'table', Key: { pk: 'p', sk: 's' } }),
    KMS: () => kms.send(new DecryptCommand({ CiphertextBlob: Uint8Array.of(1) })),
    SQS: () => sqs.sendMessage({ QueueUrl: 'https://sqs.test/queue', MessageBody: '1' }),
    EventBridge: () => eventBridge.send(new PutEventsCommand({ Entries: [{}] })),
    S3: () => s3.send(new GetObjectCommand({ Bucket: 'bucket', Key: 'key' })),
    Scheduler: () => scheduler.send(new CreateScheduleCommand(schedule)),
  };
};

const faultOf = (client: Client, status: number, name: string): StubAnswer =>
  client === 'S3'
    ? { status, body: `<?xml version="1.0"?><Error><Code>${name}</Code></Error>` }
    : fault(status, name);

const THROTTLED = fault(400, 'ThrottlingException');

const SECRET = 'planted-secret';

beforeEach(() => {
  // As in a function, independent of the environment of the tests.
  for (const name of ['AWS_PROFILE', 'AWS_ENDPOINT_URL', 'AWS_SESSION_TOKEN']) vi.stubEnv(name, undefined);
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', SECRET);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const waitsAreNone = () => void vi.spyOn(Math, 'random').mockReturnValue(0);
const waitsAreLongest = () => vi.spyOn(Math, 'random').mockReturnValue(0.999_999);

/** Without it, a busy machine would shorten the wait until the time that a service names. */
const timeStandsStill = () => vi.useFakeTimers({ toFake: ['Date'] });

/**
 * The waits of a client before its retries from now on. The timers that end a request are excluded: one second to
 * connect, and three or less to respond.
 */
const waited = () => {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  return () =>
    timers.mock.calls
      .map(([, milliseconds = 0]) => milliseconds)
      .filter((milliseconds) => milliseconds > 0 && milliseconds < 1_000);
};

describe.each(deliveryClients)('the client of %s in a function', (client) => {
  it('finds the endpoint, region and credentials in the environment', async () => {
    const { options, requests } = await called();
    vi.stubEnv('AWS_ENDPOINT_URL', options.endpoint);
    vi.stubEnv('AWS_SESSION_TOKEN', 'session');
    await callsOf({})[client]();
    const [request] = requests;
    expect(request?.headers.authorization).toMatch(
      new RegExp(`Credential=AKIDEXAMPLE/\\d{8}/eu-central-1/${client.toLowerCase()}/aws4_request`),
    );
    expect(request?.headers['x-amz-security-token']).toBe('session');
    // Which would describe the SDK.
    expect(request?.headers).not.toHaveProperty('user-agent');
    expect(request?.headers).not.toHaveProperty('x-amz-user-agent');
  });

  it('uses the regional endpoint even if the credentials name an account', async () => {
    const hosts: string[] = [];
    const requestHandler = {
      handle: ({ hostname }: { hostname: string }) => {
        hosts.push(hostname);
        return Promise.reject(new Error('no request is made'));
      },
    };
    const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: SECRET, accountId: '000000000000' };
    const call = callsOf({ requestHandler, credentials })[client]();
    await expect(call).rejects.toThrow('no request is made');
    expect(hosts).toEqual([`${client.toLowerCase()}.eu-central-1.amazonaws.com`]);
  });

  it('sends the trace id of the current invocation with each request', async () => {
    const { options, requests } = await called();
    vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'deliver');
    const calls = callsOf(options);
    const traces = ['Root=1-a;Sampled=0', 'Root=1-b;Sampled=1'];
    for (const trace of ['', ...traces]) {
      vi.stubEnv('_X_AMZN_TRACE_ID', trace);
      await calls[client]();
    }
    expect(requests.map(({ headers }) => headers['x-amzn-trace-id'])).toEqual([undefined, ...traces]);
  });

  it('numbers the retries of a request', async () => {
    waitsAreNone();
    const { calls, requests } = await called(['hang_up', 'hang_up', SUCCESS]);
    await calls[client]();
    expect(requests.map(({ headers }) => headers['amz-sdk-request'])).toEqual(
      [1, 2, 3].map((attempt) => `attempt=${attempt}; max=3`),
    );
  });
});

describe('the client of DynamoDB', () => {
  const Key = { pk: 'p' };

  it('does not write undefined fields at any depth', async () => {
    const { options, requests } = await called([ok({})]);
    const Item = { pk: 'p', gone: undefined, map: { kept: 1, gone: undefined }, list: [1, undefined, 2] };
    await dynamoClient(options).put({ TableName: 'table', Item });
    const map = { M: { kept: { N: '1' } } };
    const list = { L: [{ N: '1' }, { N: '2' }] };
    expect(JSON.parse(requests[0]?.body ?? '')).toEqual({
      TableName: 'table',
      Item: { pk: { S: 'p' }, map, list },
    });
  });

  it.each([
    ['the item that refused a write', 'ConditionalCheckFailedException', { Item: { a: { S: SECRET } } }],
    [
      'the items that refused a transaction',
      'TransactionCanceledException',
      { CancellationReasons: [{ Code: 'ConditionalCheckFailed', Item: { a: { S: SECRET } } }] },
    ],
  ])('throws errors that do not contain %s when printed', async (_, name, answer) => {
    const { options } = await called([
      { ...fault(400, name), body: JSON.stringify({ message: 'refused', ...answer }) },
    ]);
    const error: unknown = await dynamoClient(options)
      .get({ TableName: 'table', Key })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name, message: 'refused' });
    expect(inspect(error, { depth: 10 }) + JSON.stringify(error)).not.toContain(SECRET);
    expect(error).toHaveProperty(Object.keys(answer).join());
  });
});

describe('the client of SQS', () => {
  const QueueUrl = 'https://queue.test/000000000000/queue';

  it('uses the endpoint regardless of the host in the queue URL', async () => {
    const { options, requests } = await called();
    vi.stubEnv('AWS_ENDPOINT_URL_SQS', options.endpoint);
    await sqsClient().sendMessage({ QueueUrl, MessageBody: '1' });
    expect(requests).toHaveLength(1);
  });

  it('accepts a message as sent even if the checksum in the response differs', async () => {
    const { options } = await called([ok({ MessageId: '1', MD5OfMessageBody: 'other' })]);
    const sent = await sqsClient(options).sendMessage({ QueueUrl, MessageBody: '1' });
    expect(sent).toMatchObject({ MessageId: '1' });
  });
});

describe('an error about credentials', () => {
  it('does not contain them when printed', async () => {
    const { options } = await called([fault(403, 'AccessDenied')]);
    const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: SECRET };
    for (const client of deliveryClients) {
      const call = callsOf({ ...options, credentials })[client]();
      const error: unknown = await call.catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ name: 'AccessDenied' });
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(SECRET);
    }
  });

  it('does not occur when a client is created', () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', undefined);
    expect(() => [dynamoClient(), kmsClient(), sqsClient()]).not.toThrow();
  });
});

describe.each(everyClient)('the client of %s', (client) => {
  it.each<[string, StubAnswer]>([
    ['was throttled', faultOf(client, 400, 'ThrottlingException')],
    ['was throttled under another name', faultOf(client, 400, 'ProvisionedThroughputExceededException')],
    ['was throttled by status', faultOf(client, 429, 'TooMany')],
    ['failed in the service', faultOf(client, 500, 'InternalError')],
    ['found the service unavailable', faultOf(client, 503, 'ServiceUnavailable')],
    ['timed out at a gateway', faultOf(client, 504, 'GatewayTimeout')],
    ['lost its response before it started', 'hang_up'],
    ['lost its response halfway', 'cut_off'],
  ])('retries a request that %s', async (_, answer) => {
    waitsAreNone();
    const { calls, requests } = await called([answer, answer, SUCCESS]);
    await calls[client]();
    expect(requests).toHaveLength(3);
  });

  it.each([
    ['is not permitted', 403, 'AccessDeniedException'],
    ['is not valid', 400, 'ValidationException'],
    ['names a missing resource', 404, 'ResourceNotFoundException'],
    ['is refused by a condition', 400, 'ConditionalCheckFailedException'],
  ])('does not retry a request that %s', async (_, status, name) => {
    const { calls, requests } = await called([faultOf(client, status, name)]);
    await expect(calls[client]()).rejects.toMatchObject({ name, $metadata: { httpStatusCode: status } });
    expect(requests).toHaveLength(1);
  });

  it('makes a request at most three times', async () => {
    waitsAreNone();
    const { calls, requests } = await called(['hang_up']);
    await expect(calls[client]()).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(requests).toHaveLength(3);
  });
});

describe('every client', () => {
  it.each<StubAnswer>(['silence', 'stall'])(
    'gives a request that gets %s three seconds, then retries it',
    async (answer) => {
      waitsAreNone();
      const unanswered = everyClient.map(() => answer);
      const { calls, requests } = await called([...unanswered, fault(403, 'AccessDenied')]);
      const started = performance.now();
      const outcomes = await Promise.allSettled(everyClient.map((client) => calls[client]()));
      expect(performance.now() - started).toBeGreaterThan(2_900);
      expect(requests).toHaveLength(2 * everyClient.length);
      expect(outcomes).toMatchObject(
        outcomes.map(() => ({ status: 'rejected', reason: { $metadata: { httpStatusCode: 403 } } })),
      );
    },
  );
});

type Waits = [what: string, random: () => unknown, answers: StubAnswer[], waits: number[]];

const asking = (header: string, time: string) => [fault(503, 'SlowDown', { [header]: time }), SUCCESS];

const WAITS: Waits[] = [
  [
    'up to 50 ms before the first retry, and up to 100 before the second',
    waitsAreLongest,
    ['hang_up'],
    [49, 99],
  ],
  ['up to a second before the retry of a throttled request', waitsAreLongest, [THROTTLED, SUCCESS], [999]],
  ['at least what the service requests', waitsAreNone, asking('x-amz-retry-after', '120'), [120]],
];
const inSeconds: Waits = [
  'at least what it requests in seconds',
  waitsAreNone,
  asking('retry-after', '0.2'),
  [200],
];

const sumOf = (waits: readonly number[]) => waits.reduce((sum, one) => sum + one, 0);

describe.each(deliveryClients)('the waits of the client of %s', (client) => {
  it.each([...WAITS, inSeconds])('are %s', async (_what, random, answers, expected) => {
    random();
    timeStandsStill();
    const { calls, requests } = await called(answers);
    const waits = waited();
    const started = performance.now();
    await calls[client]().catch(() => undefined);
    expect(waits()).toEqual(expected);
    // Timers may be a millisecond early.
    expect(performance.now() - started).toBeGreaterThan(sumOf(expected) - 2);
    expect(requests).toHaveLength(1 + expected.length);
  });
});

it.each(WAITS)('the waits of a client of the SDK are %s', async (_what, random, answers, waits) => {
  random();
  timeStandsStill();
  const { calls } = await called(answers);
  const outcome = await calls.EventBridge().catch((error: unknown) => error);
  const $metadata = { attempts: 1 + waits.length, totalRetryDelay: sumOf(waits) };
  expect(outcome).toMatchObject({ $metadata });
});

describe('the journal of failed AWS calls', () => {
  beforeEach(waitsAreNone);

  /** The facts that calls note. */
  const journalled = async (answers: readonly StubAnswer[], invocation: Invocation = {}) => {
    const journal = inMemoryJournal();
    return { ...(await called(answers, { journal, ...invocation })), facts: journal.facts };
  };

  const serviceOf = (client: Client): string => (client === 'EventBridge' ? 'events' : client.toLowerCase());

  it.each(everyClient)('contains every throttled request, and whether it was retried: %s', async (client) => {
    const { calls, facts } = await journalled([faultOf(client, 400, 'ThrottlingException')]);
    await expect(calls[client]()).rejects.toThrow();
    const failed = { fact: 'aws_call_failed', awsService: serviceOf(client), throttled: true };
    expect(facts).toMatchObject([
      { ...failed, repeated: true },
      { ...failed, repeated: true },
      { ...failed, repeated: false },
    ]);
  });

  it.each(everyClient)(
    'contains lost requests, as not throttled, with the name of the error: %s',
    async (client) => {
      const { calls, facts } = await journalled(['hang_up', SUCCESS]);
      await calls[client]();
      const failed = { fact: 'aws_call_failed', awsService: serviceOf(client), reason: 'TimeoutError' };
      expect(facts).toEqual([{ ...failed, throttled: false, repeated: true }]);
    },
  );

  it.each(everyClient)('contains a request that there was no time to retry: %s', async (client) => {
    const deadline = { remainingMs: () => 499 };
    const throttled = faultOf(client, 400, 'ThrottlingException');
    const { calls, facts } = await journalled([throttled], { deadline });
    await expect(calls[client]()).rejects.toThrow();
    expect(facts).toMatchObject([{ throttled: true, repeated: false }]);
  });

  it.each(everyClient)('contains no successes and no refusals: %s', async (client) => {
    const refused = faultOf(client, 400, 'ConditionalCheckFailedException');
    const { calls, facts } = await journalled([SUCCESS, refused]);
    await calls[client]();
    await expect(calls[client]()).rejects.toThrow();
    expect(facts).toEqual([]);
  });

  it('contains a write that conflicted with a transaction, which is retried', async () => {
    const conflict = fault(400, 'TransactionConflictException');
    const { calls, facts, requests } = await journalled([conflict, SUCCESS]);
    await calls.DynamoDB();
    expect(facts).toMatchObject([{ reason: 'TransactionConflictException', throttled: false }]);
    expect(requests).toHaveLength(2);
  });
});
