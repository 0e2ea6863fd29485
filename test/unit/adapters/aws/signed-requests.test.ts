import { AwsV4Signer } from 'aws4fetch';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { documentClient } from '../../../../shared/adapters/aws/document-client.ts';
import { kmsClient } from '../../../../shared/adapters/aws/key-client.ts';
import { sqsClient } from '../../../../shared/adapters/aws/queue-client.ts';
import type { ServiceOptions } from '../../../../shared/adapters/aws/service-options.ts';
import type { StubRequest } from '../aws-stub.ts';
import { ok, stubbedService } from './stubbed-service.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const credentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const authorizationSchema =
  /^AWS4-HMAC-SHA256 Credential=(\S+), SignedHeaders=(\S+), Signature=([0-9a-f]{64})$/;

const partsOf = ({ headers }: StubRequest) => {
  const [, credential = '', signed = ''] = authorizationSchema.exec(headers.authorization ?? '') ?? [];
  return { credential, signed: signed.split(';') };
};

type Signing = { service: string; sessionToken?: string };

/** The authorization of a request as somebody else's signer makes it of what came over the wire. */
const authorizationOf = (request: StubRequest, { service, sessionToken }: Signing): Promise<string> => {
  const { host = '', ...headers } = request.headers;
  const named = partsOf(request).signed.filter((name) => name in headers);
  return new AwsV4Signer({
    ...credentials,
    ...(sessionToken === undefined ? {} : { sessionToken }),
    method: request.method,
    url: `http://${host}${request.path}`,
    headers: named.map((name): [string, string] => [name, String(headers[name])]),
    body: request.body,
    service,
    region: 'eu-central-1',
    datetime: String(headers['x-amz-date']),
    allHeaders: true,
  }).authHeader();
};

/** A request of each client whose body has this text in it. */
const requestsWith = async (text: string, given: Pick<ServiceOptions, 'credentials'>) => {
  const { options, requests } = await stubbedService(ok({ Plaintext: 'AQ==', MessageId: '1' }));
  const here = { ...options, ...given, region: 'eu-central-1' };
  await documentClient(here).put({ TableName: 'table', Item: { text } });
  await sqsClient(here).sendMessage({ QueueUrl: 'https://sqs.test/queue', MessageBody: text });
  await kmsClient(here).decrypt({ CiphertextBlob: Buffer.from(text), EncryptionContext: { text } });
  return requests.map((request, index) => ({ request, service: ['dynamodb', 'sqs', 'kms'][index] ?? '' }));
};

describe('the signature of a request', () => {
  it.each([
    ['plain', 'text'],
    ['not ASCII', 'Grüße, 世界 \u{1f600}'],
    ['half a character', 'a\ud800b'],
    ['with what JSON escapes', '"\\\n\u0000\u2028'],
    ['of 300 KB', 'é'.repeat(150_000)],
  ])('is the one that another signer makes of it, where its body is %s', async (_, text) => {
    for (const { request, service } of await requestsWith(text, { credentials })) {
      expect(request.headers.authorization).toMatch(authorizationSchema);
      expect(request.headers.authorization).toBe(await authorizationOf(request, { service }));
    }
  });

  it('covers the session token, which goes along', async () => {
    const sessionToken = 'FwoGZXIvYXdzEXAMPLE==';
    for (const { request, service } of await requestsWith('text', {
      credentials: { ...credentials, sessionToken },
    })) {
      expect(request.headers['x-amz-security-token']).toBe(sessionToken);
      expect(partsOf(request).signed).toContain('x-amz-security-token');
      expect(request.headers.authorization).toBe(await authorizationOf(request, { service, sessionToken }));
    }
  });

  it('names the key, the day, the region and the service, and covers what decides', async () => {
    for (const { request, service } of await requestsWith('text', { credentials })) {
      const date = String(request.headers['x-amz-date']);
      expect(date).toMatch(/^\d{8}T\d{6}Z$/);
      const { credential, signed } = partsOf(request);
      expect(credential).toBe(`AKIDEXAMPLE/${date.slice(0, 8)}/eu-central-1/${service}/aws4_request`);
      expect(signed).toEqual(expect.arrayContaining(['content-type', 'host', 'x-amz-date', 'x-amz-target']));
      expect(request.headers['x-amz-security-token']).toBeUndefined();
    }
  });

  it('is of the time of its own request, also for a repeat', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const { options, requests } = await stubbedService('hang_up', ok({ MessageId: '1' }));
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 0, 2, 23, 59, 59) });
    const sqs = sqsClient({ ...options, credentials, region: 'eu-central-1' });
    const journal = { note: () => void vi.setSystemTime(Date.UTC(2026, 0, 3)) };
    const repeating = sqsClient({ ...options, credentials, region: 'eu-central-1', journal });
    await repeating.sendMessage({ QueueUrl: 'q', MessageBody: '1' });
    await sqs.sendMessage({ QueueUrl: 'q', MessageBody: '1' });
    expect(requests.map(({ headers }) => headers['x-amz-date'])).toEqual([
      '20260102T235959Z',
      '20260103T000000Z',
      '20260103T000000Z',
    ]);
    for (const request of requests)
      expect(request.headers.authorization).toBe(await authorizationOf(request, { service: 'sqs' }));
  });
});

describe('the trace of an invocation', () => {
  it('goes along with each request, whichever is under way then', async () => {
    const { options, requests } = await stubbedService(ok({ MessageId: '1' }));
    let trace: string | undefined;
    const sqs = sqsClient({ ...options, credentials, region: 'eu-central-1', traceId: () => trace });
    for (trace of [undefined, 'Root=1-a;Sampled=0', 'Root=1-b;Sampled=1']) {
      await sqs.sendMessage({ QueueUrl: 'q', MessageBody: '1' });
    }
    expect(requests.map(({ headers }) => headers['x-amzn-trace-id'])).toEqual([
      undefined,
      'Root=1-a;Sampled=0',
      'Root=1-b;Sampled=1',
    ]);
    for (const request of requests)
      expect(request.headers.authorization).toBe(await authorizationOf(request, { service: 'sqs' }));
  });
});

describe('a repeat', () => {
  it('says that it is one, as the SDK does', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const { options, requests } = await stubbedService('hang_up', 'hang_up', ok({ MessageId: '1' }));
    await sqsClient({ ...options, credentials }).sendMessage({ QueueUrl: 'q', MessageBody: '1' });
    expect(requests.map(({ headers }) => headers['amz-sdk-request'])).toEqual([
      'attempt=1; max=3',
      'attempt=2; max=3',
      'attempt=3; max=3',
    ]);
  });
});
