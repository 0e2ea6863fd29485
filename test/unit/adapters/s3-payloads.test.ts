import { S3Client } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import * as z from 'zod';
import { s3Client, s3Payloads } from '../../../shared/adapters/s3/payloads.ts';
import { s3ReferencedData } from '../../../shared/adapters/s3/referenced-data.ts';
import { sqsClient } from '../../../shared/adapters/sqs/client.ts';
import { sqsDeadLetters, sqsUndeliverables } from '../../../shared/adapters/sqs/dead-letters.ts';
import { payloadKeyOf } from '../../../shared/domain/message/body.ts';
import type { Message } from '../../../shared/domain/message/message.ts';
import type { Payloads } from '../../../shared/ports/bodies.ts';
import { encodeMessage } from '../../../shared/wire/jobs/message-body.ts';
import { encodeUndeliverableNotice } from '../../../shared/wire/jobs/undeliverable-notice.ts';
import { awsStub, type StubAnswer, type StubRequest } from '../../support/aws-stub.ts';
import { aMessage } from '../../support/builders.ts';
import { aDelivery } from '../../support/delivery-builders.ts';

const stubThat = async (answer: (request: StubRequest) => StubAnswer) => {
  const stub = await awsStub(answer);
  onTestFinished(stub.close);
  return stub;
};

const sentSchema = z.object({
  MessageBody: z.string(),
  MessageAttributes: z
    .record(z.string(), z.object({ DataType: z.literal('String'), StringValue: z.string() }))
    .optional(),
});

const queue = async () => {
  const stub = await stubThat(() => ({ body: JSON.stringify({ MessageId: '1' }) }));
  return {
    sqs: sqsClient(stub.config),
    url: `${stub.config.endpoint}/000000000000/queue`,
    sent: () => stub.requests.map(({ body }) => sentSchema.parse(JSON.parse(body))),
  };
};

const attributesOf = ({ MessageAttributes = {} }: z.infer<typeof sentSchema>) =>
  Object.fromEntries(Object.entries(MessageAttributes).map(([name, { StringValue }]) => [name, StringValue]));

describe('a dead letter', () => {
  const deadLetter = async (attributes: Record<string, string> = {}, body = ' not {json') => {
    const { sqs, url, sent } = await queue();
    await sqsDeadLetters(sqs, url).send({ body, id: 'sqs-id', attributes }, 'not_json');
    return sent()[0] ?? { MessageBody: '' };
  };

  it('goes without the reason, and without the id, where SQS would refuse it for its size', async () => {
    const queue = { queue: 'orders' };
    const id = { 'posthaste-id': 'sqs-id' };
    const sentWith = async (added: string) => {
      const bytes = 1_048_576 - `queueStringorders${added}`.length;
      return attributesOf(await deadLetter(queue, 'x'.repeat(bytes)));
    };
    const both = await sentWith('reasonStringnot_jsonposthaste-idStringsqs-id');
    expect(both).toEqual({ ...queue, ...id, reason: 'not_json' });
    expect(await sentWith('posthaste-idStringsqs-id')).toEqual({ ...queue, ...id });
    expect(await sentWith('posthaste-idStringsqs-i')).toEqual(queue);
  });

  it('has the unchanged body, the reason, and the id that a redrive sends', async () => {
    const letter = await deadLetter();
    expect(letter.MessageBody).toBe(' not {json');
    expect(attributesOf(letter)).toEqual({ reason: 'not_json', 'posthaste-id': 'sqs-id' });
  });

  it('keeps its attributes, except that the reason is replaced', async () => {
    expect(attributesOf(await deadLetter({ queue: 'orders', reason: 'old' }))).toEqual({
      queue: 'orders',
      reason: 'not_json',
      'posthaste-id': 'sqs-id',
    });
  });

  it('that was redriven before keeps its original id', async () => {
    expect(attributesOf(await deadLetter({ 'posthaste-id': 'first-life' }))).toMatchObject({
      'posthaste-id': 'first-life',
    });
  });

  it('has at most ten attributes, and prefers those that dispatch reads', async () => {
    const others = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`other-${index}`, 'x']));
    const attributes = attributesOf(
      await deadLetter({ ...others, queue: 'orders', 'ce-specversion': '1.0' }),
    );
    expect(Object.keys(attributes)).toHaveLength(10);
    expect(attributes).toMatchObject({ queue: 'orders', 'ce-specversion': '1.0', reason: 'not_json' });
  });
});

describe('an undeliverable message', () => {
  const memory = (kept: Record<string, Message> = {}) => {
    const stored = new Map(Object.entries(kept));
    const payloads: Pick<Payloads, 'put' | 'get'> = {
      put: (key, message) => {
        stored.set(key, message);
        return Promise.resolve();
      },
      get: (key) => Promise.resolve(stored.get(key)),
    };
    return { payloads, stored };
  };

  const delivery = aDelivery({ status: 'exhausted' });
  const large = aMessage({ data: JSON.stringify('x'.repeat(256 * 1024)) });

  const send = async (
    body: Parameters<ReturnType<typeof sqsUndeliverables>['send']>[0]['body'],
    kept?: Record<string, Message>,
  ) => {
    const { sqs, url, sent } = await queue();
    const { payloads, stored } = memory(kept);
    const undeliverables = sqsUndeliverables(sqs, payloads, { queueUrl: url, payloadBucket: 'payloads' });
    await undeliverables.send(body === undefined ? { delivery } : { delivery, body });
    return { text: sent()[0]?.MessageBody, stored };
  };

  it('contains its data', async () => {
    const { data } = aMessage();
    const { text, stored } = await send({ kind: 'inline', message: aMessage() });
    expect(text).toBe(encodeUndeliverableNotice(delivery, { kind: 'inline', data }));
    expect(stored.size).toBe(0);
  });

  it('contains its data even if that was stored, if it is small enough', async () => {
    const { data } = aMessage();
    const { text } = await send({ kind: 'stored', payloadKey: 'a/b' }, { 'a/b': aMessage() });
    expect(text).toBe(encodeUndeliverableNotice(delivery, { kind: 'inline', data }));
  });

  it('over 256 KB contains the location of its data', async () => {
    const { text } = await send({ kind: 'stored', payloadKey: 'a/b' }, { 'a/b': large });
    expect(text).toBe(
      encodeUndeliverableNotice(delivery, { kind: 'reference', dataRef: 's3://payloads/a/b' }),
    );
  });

  it('over 256 KB is stored first if necessary', async () => {
    const { text, stored } = await send({ kind: 'inline', message: large });
    const key = payloadKeyOf(large);
    expect(text).toBe(
      encodeUndeliverableNotice(delivery, { kind: 'reference', dataRef: `s3://payloads/${key}` }),
    );
    expect([...stored]).toEqual([[key, large]]);
  });

  it('is reported without data if that is gone', async () => {
    const gone = encodeUndeliverableNotice(delivery, { kind: 'gone' });
    expect((await send(undefined)).text).toBe(gone);
    expect((await send({ kind: 'stored', payloadKey: 'a/b' })).text).toBe(gone);
  });
});

describe('the payload bucket', () => {
  const message = aMessage({ data: '{"n":12345678901234567890}' });
  const bucketThat = async (answer: (request: StubRequest) => StubAnswer) => {
    const stub = await stubThat(answer);
    return { stub, payloads: s3Payloads(new S3Client(stub.config), 'payloads') };
  };
  const fault = (status: number, code: string): StubAnswer => ({
    status,
    headers: { 'content-type': 'application/xml' },
    body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>from the test</Message></Error>`,
  });

  it('stores a message as JSON under its key', async () => {
    const { stub, payloads } = await bucketThat(() => ({ body: '' }));
    await payloads.put('orders/m-1/x', message);
    expect(stub.requests[0]).toMatchObject({
      method: 'PUT',
      path: expect.stringContaining('/payloads/orders/m-1/x') as unknown,
    });
    expect(stub.requests[0]?.headers['content-type']).toBe('application/json');
    expect(stub.requests[0]?.body).toContain(encodeMessage(message));
  });

  it('returns a message unchanged', async () => {
    const { payloads } = await bucketThat(() => ({ body: encodeMessage(message) }));
    expect(await payloads.get('orders/m-1/x')).toEqual(message);
  });

  it('reports a missing message', async () => {
    const { payloads } = await bucketThat(() => fault(404, 'NoSuchKey'));
    expect(await payloads.get('orders/m-1/x')).toBeUndefined();
  });

  it.each([
    ['a refusal', fault(403, 'AccessDenied')],
    ['no such bucket', fault(404, 'NoSuchBucket')],
    ['an object that is not a message', { body: 'hello' }],
  ])('does not treat %s as a missing message', async (_name, answer) => {
    const { payloads } = await bucketThat(() => answer);
    await expect(payloads.get('orders/m-1/x')).rejects.toThrow();
  });
});

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
