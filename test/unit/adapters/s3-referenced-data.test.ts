import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { s3Client } from '../../../shared/adapters/s3/payloads.ts';
import { s3ReferencedData } from '../../../shared/adapters/s3/referenced-data.ts';
import { awsStub, type StubAnswer } from '../../support/aws-stub.ts';

const OWNER = '111122223333';
const reference = { bucket: 'producer', key: 'webhooks/17.json' };

beforeEach(() => {
  // No waits between retries.
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const readAnswered = async (answer: StubAnswer, asked: { versionId?: string } = {}) => {
  const stub = await awsStub(() => answer);
  onTestFinished(stub.close);
  const s3 = s3Client({ ...stub.config, forcePathStyle: true });
  const reading = s3ReferencedData(s3).read({ ...reference, ...asked }, OWNER);
  return { reading, requests: stub.requests };
};

const fault = (status: number, code: string): StubAnswer => ({
  status,
  headers: { 'content-type': 'application/xml' },
  body: `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>secret</Message></Error>`,
});

describe('an object of a producer in S3', () => {
  it('is requested up to one byte more than the limit, with the expected owner', async () => {
    const { reading, requests } = await readAnswered({ status: 206, body: '{"n":1}' });
    expect(await reading).toEqual({ ok: true, data: '{"n":1}' });
    expect(requests).toMatchObject([
      {
        method: 'GET',
        path: '/producer/webhooks/17.json?x-id=GetObject',
        headers: { range: 'bytes=0-1048576', 'x-amz-expected-bucket-owner': OWNER },
      },
    ]);
  });

  it('is requested in the given version', async () => {
    const { reading, requests } = await readAnswered({ status: 206, body: '1' }, { versionId: 'v/1' });
    await reading;
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
    const { reading } = await readAnswered(fault(status, code));
    expect(await reading).toEqual({ ok: false, reason });
  });

  it.each<[number, string]>([
    [500, 'InternalError'],
    [503, 'SlowDown'],
    [400, 'RequestTimeout'],
    [400, 'ExpiredToken'],
    [403, 'RequestTimeTooSkewed'],
    [400, 'KMS.DisabledException'],
  ])('that S3 answers with %i %s can be retried', async (status, code) => {
    const { reading } = await readAnswered(fault(status, code));
    await expect(reading).rejects.toMatchObject({ name: code });
  });

  it('that is truncated can be retried', async () => {
    const { reading } = await readAnswered('cut_off');
    await expect(reading).rejects.toThrow();
  });
});
