import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { dynamoClient } from '../../../../shared/adapters/dynamodb/client.ts';
import { kmsClient } from '../../../../shared/adapters/kms/signing-secrets.ts';
import { sqsClient } from '../../../../shared/adapters/sqs/client.ts';
import { awsStub, type StubAnswer } from '../../../support/aws-stub.ts';
import { callsOf, deliveryClients, SUCCESS } from './calls-of-every-client.ts';

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
});

/** A service for this test that gives these answers in order, the last one repeatedly. */
const serviceThat = async (...answers: StubAnswer[]) => {
  const stub = await awsStub((_, index) => answers[Math.min(index, answers.length - 1)] ?? SUCCESS);
  onTestFinished(stub.close);
  const { endpoint, region, credentials } = stub.config;
  return { options: { endpoint, region, credentials }, requests: stub.requests };
};

const ok = (body: unknown): StubAnswer => ({ body: JSON.stringify(body) });

describe.each(deliveryClients)('the client of %s in a function', (client) => {
  it('finds the endpoint, region and credentials in the environment', async () => {
    const { options, requests } = await serviceThat();
    vi.stubEnv('AWS_ENDPOINT_URL', options.endpoint);
    vi.stubEnv('AWS_SESSION_TOKEN', 'session');
    await callsOf({})[client]();
    const [request] = requests;
    expect(request?.headers.authorization).toMatch(
      new RegExp(`Credential=AKIDEXAMPLE/\\d{8}/eu-central-1/${client.toLowerCase()}/aws4_request`),
    );
    expect(request?.headers['x-amz-security-token']).toBe('session');
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
    const { options, requests } = await serviceThat();
    vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'deliver');
    const calls = callsOf(options);
    for (const trace of ['', 'Root=1-a;Sampled=0', 'Root=1-b;Sampled=1']) {
      vi.stubEnv('_X_AMZN_TRACE_ID', trace);
      await calls[client]();
    }
    expect(requests.map(({ headers }) => headers['x-amzn-trace-id'])).toEqual([
      undefined,
      'Root=1-a;Sampled=0',
      'Root=1-b;Sampled=1',
    ]);
  });

  it('sends no headers that describe the SDK', async () => {
    const { options, requests } = await serviceThat();
    await callsOf(options)[client]();
    expect(requests[0]?.headers).not.toHaveProperty('user-agent');
    expect(requests[0]?.headers).not.toHaveProperty('x-amz-user-agent');
  });

  it('numbers the retries of a request', async () => {
    const noWait = vi.spyOn(Math, 'random').mockReturnValue(0);
    onTestFinished(() => {
      noWait.mockRestore();
    });
    const { options, requests } = await serviceThat('hang_up', 'hang_up', SUCCESS);
    await callsOf(options)[client]();
    expect(requests.map(({ headers }) => headers['amz-sdk-request'])).toEqual([
      'attempt=1; max=3',
      'attempt=2; max=3',
      'attempt=3; max=3',
    ]);
  });
});

describe('the client of DynamoDB', () => {
  const Key = { pk: 'p' };

  it('does not write undefined fields at any depth', async () => {
    const { options, requests } = await serviceThat(ok({}));
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
    const { options } = await serviceThat({
      status: 400,
      headers: { 'x-amzn-errortype': name },
      body: JSON.stringify({ message: 'refused', ...answer }),
    });
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
    const { options, requests } = await serviceThat();
    vi.stubEnv('AWS_ENDPOINT_URL_SQS', options.endpoint);
    await sqsClient().sendMessage({ QueueUrl, MessageBody: '1' });
    expect(requests).toHaveLength(1);
  });

  it('accepts a message as sent even if the checksum in the response differs', async () => {
    const { options } = await serviceThat(ok({ MessageId: '1', MD5OfMessageBody: 'other' }));
    expect(await sqsClient(options).sendMessage({ QueueUrl, MessageBody: '1' })).toMatchObject({
      MessageId: '1',
    });
  });
});

describe('an error about credentials', () => {
  it('does not contain them when printed', async () => {
    const { options } = await serviceThat({ status: 403, headers: { 'x-amzn-errortype': 'AccessDenied' } });
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
