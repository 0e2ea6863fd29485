import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { s3Client, s3Payloads } from '../../../shared/adapters/s3/payloads.ts';
import { s3ReferencedData } from '../../../shared/adapters/s3/referenced-data.ts';
import { encodeMessage } from '../../../shared/wire/jobs/message-body.ts';
import type { StubAnswer } from '../../support/aws-stub.ts';
import { aMessage } from '../../support/builders.ts';
import { serviceThat } from './service.ts';

const OWNER = '111122223333';
const reference = { bucket: 'producer', key: 'webhooks/17.json' };

beforeEach(() => {
  // No waits between retries.
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const s3That = async (answer: StubAnswer) => {
  const { config, requests } = await serviceThat(answer);
  const s3 = s3Client({ ...config, forcePathStyle: true });
  const read = (asked: { versionId?: string } = {}) =>
    s3ReferencedData(s3).read({ ...reference, ...asked }, OWNER);
  return { read, payloads: s3Payloads(s3, 'payloads'), requests };
};

const fault = (status: number, code: string): StubAnswer => ({
  status,
  headers: { 'content-type': 'application/xml' },
  body: `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>secret</Message></Error>`,
});

describe('an object of a producer in S3', () => {
  it('is requested up to one byte more than the limit, with the expected owner', async () => {
    const { read, requests } = await s3That({ status: 206, body: '{"n":1}' });
    expect(await read()).toEqual({ ok: true, data: '{"n":1}' });
    expect(requests).toMatchObject([
      {
        method: 'GET',
        path: '/producer/webhooks/17.json?x-id=GetObject',
        headers: { range: 'bytes=0-1048576', 'x-amz-expected-bucket-owner': OWNER },
      },
    ]);
  });

  it('is requested in the given version', async () => {
    const { read, requests } = await s3That({ status: 206, body: '1' });
    await read({ versionId: 'v/1' });
    expect(requests[0]?.path).toContain('versionId=v%2F1');
  });

  it.each<[number, string, string]>([
    [404, 'NoSuchBucket', 'data_ref_missing'],
    [404, 'NoSuchKey', 'data_ref_missing'],
    [404, 'NoSuchVersion', 'data_ref_missing'],
    [405, 'MethodNotAllowed', 'data_ref_missing'],
    [403, 'AccessDenied', 'data_ref_denied'],
    [403, 'AllAccessDisabled', 'data_ref_denied'],
    [403, 'InvalidObjectState', 'data_ref_denied'],
    [301, 'PermanentRedirect', 'data_ref_denied'],
    [400, 'InvalidArgument', 'data_ref_denied'],
    [416, 'InvalidRange', 'data_ref_not_json'],
  ])('that S3 answers with %i %s is rejected: %s', async (status, code, reason) => {
    const { read } = await s3That(fault(status, code));
    expect(await read()).toEqual({ ok: false, reason });
  });

  it.each<[number, string]>([
    [500, 'InternalError'],
    [503, 'SlowDown'],
    [400, 'RequestTimeout'],
    [400, 'ExpiredToken'],
    [403, 'RequestTimeTooSkewed'],
    [400, 'KMS.DisabledException'],
  ])('that S3 answers with %i %s can be retried', async (status, code) => {
    const { read } = await s3That(fault(status, code));
    await expect(read()).rejects.toMatchObject({ name: code });
  });

  it('that is truncated can be retried', async () => {
    await expect((await s3That('cut_off')).read()).rejects.toThrow();
  });
});

describe('the payload bucket', () => {
  const message = aMessage({ data: '{"n":12345678901234567890}' });

  it('stores a message as JSON under its key', async () => {
    const { requests, payloads } = await s3That({ body: '' });
    await payloads.put('orders/m-1/x', message);
    expect(requests[0]).toMatchObject({
      method: 'PUT',
      path: expect.stringContaining('/payloads/orders/m-1/x') as unknown,
      headers: { 'content-type': 'application/json' },
      body: expect.stringContaining(encodeMessage(message)) as unknown,
    });
  });

  it('reports a missing message', async () => {
    const { payloads } = await s3That(fault(404, 'NoSuchKey'));
    expect(await payloads.get('orders/m-1/x')).toBeUndefined();
  });

  it.each([
    ['a refusal', fault(403, 'AccessDenied')],
    ['no such bucket', fault(404, 'NoSuchBucket')],
    ['an object that is not a message', { body: 'hello' }],
  ])('does not treat %s as a missing message', async (_name, answer) => {
    const { payloads } = await s3That(answer);
    await expect(payloads.get('orders/m-1/x')).rejects.toThrow();
  });
});
