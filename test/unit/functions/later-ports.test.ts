import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { lazyOperatorEvents } from '../../../shared/adapters/eventbridge/lazy-operator-events.ts';
import { lazyPayloads } from '../../../shared/adapters/s3/lazy-payloads.ts';
import { lazyReferencedData } from '../../../shared/adapters/s3/lazy-referenced-data.ts';
import { lazyScheduleRemoval, lazySchedules } from '../../../shared/adapters/scheduler/lazy-wake-ups.ts';
import { lazySecretSealer } from '../../../shared/adapters/kms/lazy-secret-sealer.ts';
import { aMessage } from '../../support/builders.ts';
import { awsStub, type AwsStub } from '../../support/aws-stub.ts';

let stub: AwsStub;

/** The answer to GenerateDataKey. */
const DATA_KEY = {
  Plaintext: Buffer.alloc(32, 1).toString('base64'),
  CiphertextBlob: Buffer.alloc(184, 2).toString('base64'),
};

beforeEach(async () => {
  stub = await awsStub(({ method, path, headers }) => {
    if (headers['x-amz-target'] === 'TrentService.GenerateDataKey') return { body: JSON.stringify(DATA_KEY) };
    if (path.startsWith('/refused/'))
      return { status: 403, body: '<Error><Code>AccessDenied</Code></Error>' };
    if (path.includes('list-type=2')) return { body: '<ListBucketResult></ListBucketResult>' };
    if (method === 'GET' && path.startsWith('/producer/')) return { body: '{"a":1}' };
    if (method === 'GET') return { status: 404, body: '<Error><Code>NoSuchKey</Code></Error>' };
    return { body: path === '/' ? '{"FailedEntryCount":0,"Entries":[{"EventId":"event"}]}' : '{}' };
  });
  vi.stubEnv('AWS_ENDPOINT_URL', stub.config.endpoint);
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await stub.close();
});

const requests = (): string[] =>
  stub.requests.map(({ method, path }) => `${method} ${path.split('?')[0] ?? ''}`);

const key = { queue: 'orders', messageId: 'message-1', subscriptionId: 'subscription-1', bucket: 0 };

const settings = {
  group: 'group',
  roleArn: 'arn:aws:iam::000000000000:role/scheduler',
  retryQueueUrl: 'https://sqs.us-east-1.amazonaws.com/000000000000/retry',
  deadLetterArn: 'arn:aws:sqs:us-east-1:000000000000:dead',
};

describe('an adapter that is loaded on demand', () => {
  it('stores payloads in S3', async () => {
    const payloads = lazyPayloads({}, 'payloads');
    await payloads.put('one', aMessage());
    await expect(payloads.get('two')).resolves.toBeUndefined();
    await payloads.remove('three');
    expect(requests()).toEqual(['PUT /payloads/one', 'GET /payloads/two', 'DELETE /payloads/three']);
  });

  it('removes all payloads of a message', async () => {
    await lazyPayloads({}, 'payloads').removeAll({ queue: 'orders', messageId: 'message-1' });
    expect(stub.requests[0]?.path).toBe('/payloads/?list-type=2&prefix=orders%2Fmessage-1%2F');
  });

  it('reads the data that a message references', async () => {
    const read = lazyReferencedData({}).read({ bucket: 'producer', key: 'order.json' }, '111122223333');
    await expect(read).resolves.toEqual({ ok: true, data: '{"a":1}' });
  });

  it('creates and removes schedules', async () => {
    const wakeUp = { kind: 'wake_up' as const, key, attempt: 2, dueAt: 1_800_000_000_000 };
    await expect(lazySchedules({}, settings).schedule('name', wakeUp.dueAt, wakeUp)).resolves.toBe(
      'scheduled',
    );
    await expect(lazyScheduleRemoval({}, settings).unschedule('name')).resolves.toBe('removed');
    expect(requests()).toEqual(['POST /schedules/name', 'DELETE /schedules/name']);
  });

  it('publishes operator events', async () => {
    const events = lazyOperatorEvents({}, { busName: 'bus', deployment: 'Posthaste' });
    await events.publish({ type: 'delivery.exhausted', key, attempts: 3, at: 0 });
    expect(stub.requests[0]?.headers['x-amz-target']).toBe('AWSEvents.PutEvents');
  });

  it('seals credentials under a key of KMS', async () => {
    const sealer = lazySecretSealer({}, 'arn:aws:kms:us-east-1:000000000000:key/one');
    const sealed = await sealer.sealAuth(key, { type: 'basic', username: 'me', password: 'the password' });
    expect(sealed).toMatch(/^1\./);
    expect(sealed).not.toContain('the password');
    expect(stub.requests[0]?.headers['x-amz-target']).toBe('TrentService.GenerateDataKey');
  });

  it('creates its client once', async () => {
    const payloads = lazyPayloads({}, 'payloads');
    await Promise.all([payloads.put('one', aMessage()), payloads.put('two', aMessage())]);
    vi.stubEnv('AWS_ENDPOINT_URL', 'http://127.0.0.1:1');
    await payloads.put('three', aMessage());
    expect(requests()).toHaveLength(3);
  });

  it('passes on the error of its adapter', async () => {
    const stored = lazyPayloads({}, 'refused').put('one', aMessage());
    await expect(stored).rejects.toMatchObject({ name: 'AccessDenied' });
  });
});
