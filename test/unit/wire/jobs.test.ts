import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DeadLetter, DeadLetterAttributes } from '../../../shared/domain/delivery/dead-letter.ts';
import type { ChunkJob, DeliveryJob, WakeUp } from '../../../shared/domain/delivery/job.ts';
import type { Operation } from '../../../shared/domain/recovery/operation.ts';
import {
  readDeliveryDeadLetter,
  readIngressDeadLetter,
  readOperationDeadLetter,
} from '../../../shared/wire/jobs/dead-letter.ts';
import { encodeFirstJob, encodeWakeUp, parseWork } from '../../../shared/wire/jobs/delivery-job.ts';
import {
  decodeMessage,
  encodeMessage,
  UnreadableMessageError,
} from '../../../shared/wire/jobs/message-body.ts';
import { encodeOperation, parseOperation } from '../../../shared/wire/jobs/operation.ts';
import { aMessage } from '../../support/builders.ts';
import { jsonText } from './json-text.ts';

const key = { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1', bucket: 2 };

const jobWith = (given: Partial<DeliveryJob> = {}): DeliveryJob => ({
  kind: 'job',
  key,
  attempt: 1,
  acceptedAt: 1_700_000_000_123,
  sentAt: 1_700_000_000_045,
  body: { kind: 'inline', message: aMessage() },
  ...given,
});

const chunkJobWith = (given: Partial<ChunkJob> = {}): ChunkJob => ({
  kind: 'chunk',
  key: { queue: 'orders', messageId: 'm-1', bucket: 2, chunk: 7 },
  subscriptionIds: ['s-1', 's-2'],
  acceptedAt: 1_700_000_000_123,
  sentAt: 1_700_000_000_045,
  body: { kind: 'inline', message: aMessage() },
  ...given,
});

const wakeUp: WakeUp = { kind: 'wake_up', key, attempt: 7, dueAt: 1_700_000_005_000 };

const jsonOf = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

describe('an encoded message', () => {
  it('is decoded with its data byte for byte', () => {
    fc.assert(
      fc.property(jsonText, fc.string({ unit: 'grapheme' }), (data, originalId) => {
        const trace = { traceparent: 'a', tracestate: 'b' };
        const message = aMessage({ data, originalId, type: originalId, expiresAt: 1_700_000_000_000, trace });
        expect(decodeMessage(encodeMessage(message))).toEqual(message);
      }),
      { numRuns: 300 },
    );
  });

  it('contains its data as JSON, not as a string, and a version', () => {
    expect(encodeMessage(aMessage({ data: '[ 1 ]' }))).toBe(
      '{"v":1,"queue":"orders","id":"message-1","type":"order.created","timestamp":"2026-01-01T00:00:00.000Z","data":[ 1 ]}',
    );
  });

  it.each([
    ['nothing', '', 'not_json'],
    ['another version', '{"v":2,"queue":"q","id":"i","timestamp":"t","data":1}', 'unknown_version'],
    ['no version', '{"queue":"q","id":"i","timestamp":"t","data":1}', 'unknown_version'],
    ['no data', '{"v":1,"queue":"q","id":"i","timestamp":"t"}', 'data_missing'],
    ['a wrong type', '{"v":1,"queue":"q","id":4,"timestamp":"t","data":1}', 'invalid_field:id'],
  ])('is refused with a reason if malformed: %s', (_name, text, reason) => {
    expect(() => decodeMessage(text)).toThrow(UnreadableMessageError);
    expect(() => decodeMessage(text)).toThrow(reason);
  });
});

describe('a delivery job', () => {
  it('is parsed with the data of its message byte for byte', () => {
    fc.assert(
      fc.property(jsonText, fc.option(fc.nat(), { nil: undefined }), (data, dueAt) => {
        const message = aMessage({ data });
        const job = jobWith({ body: { kind: 'inline', message }, ...(dueAt === undefined ? {} : { dueAt }) });
        expect(parseWork(encodeFirstJob(job))).toEqual({ ok: true, value: job });
      }),
      { numRuns: 300 },
    );
  });

  it('is parsed with the key of a stored message', () => {
    const job = jobWith({
      body: { kind: 'stored', payloadKey: 'orders/m-1/x' },
      dueAt: 5,
      retentionDays: 15,
    });
    expect(parseWork(encodeFirstJob(job))).toEqual({ ok: true, value: job });
  });

  it('ignores unknown keys', () => {
    const text = encodeFirstJob(jobWith()).replace('{', '{"later":{"message":1},');
    expect(parseWork(text)).toEqual({ ok: true, value: jobWith() });
  });
});

describe('the lost attempts of a delivery job', () => {
  it('are parsed', () => {
    expect(parseWork(encodeFirstJob(jobWith({ lost: 2 })))).toEqual({
      ok: true,
      value: jobWith({ lost: 2 }),
    });
  });

  it('are omitted if there are none', () => {
    expect(jsonOf(encodeFirstJob(jobWith()))).not.toHaveProperty('lost');
  });
});

describe('a job for a chunk', () => {
  const ids = fc.uniqueArray(fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/), { minLength: 1, maxLength: 40 });

  it('is parsed with its members in order and its message byte for byte', () => {
    fc.assert(
      fc.property(jsonText, ids, fc.option(fc.nat(), { nil: undefined }), (data, subscriptionIds, dueAt) => {
        const body = { kind: 'inline' as const, message: aMessage({ data }) };
        const job = chunkJobWith({ body, subscriptionIds, ...(dueAt === undefined ? {} : { dueAt }) });
        expect(parseWork(encodeFirstJob(job))).toEqual({ ok: true, value: job });
      }),
      { numRuns: 300 },
    );
  });

  it('contains its message once, not per member', () => {
    const subscriptionIds = Array.from({ length: 25 }, (_, index) => `s-${index}`);
    const message = aMessage({ data: '"only-once"' });
    const text = encodeFirstJob(chunkJobWith({ subscriptionIds, body: { kind: 'inline', message } }));
    expect(text.split('only-once')).toHaveLength(2);
  });

  it('is parsed with the key of a stored message', () => {
    const body = { kind: 'stored', payloadKey: 'orders/m-1/x' } as const;
    const job = chunkJobWith({ body, dueAt: 5, retentionDays: 15 });
    expect(parseWork(encodeFirstJob(job))).toEqual({ ok: true, value: job });
  });

  it('ignores unknown keys', () => {
    const text = encodeFirstJob(chunkJobWith()).replace('{', '{"subscriptionId":"s-9","attempt":3,"lost":1,');
    expect(parseWork(text)).toEqual({ ok: true, value: chunkJobWith() });
  });
});

describe('a wake-up', () => {
  it('has a short encoding', () => {
    expect(encodeWakeUp(wakeUp)).toBe(
      '{"v":1,"kind":"wake_up","queue":"orders","messageId":"m-1","subscriptionId":"s-1","bucket":2,"attempt":7,"dueAt":1700000005000}',
    );
  });

  it('is parsed from its encoding', () => {
    expect(parseWork(encodeWakeUp(wakeUp))).toEqual({ ok: true, value: wakeUp });
    const byHand: WakeUp = { ...wakeUp, by: 'sqs_delay', isUrgent: true };
    expect(parseWork(encodeWakeUp(byHand))).toEqual({ ok: true, value: byHand });
  });
});

describe('a malformed job or wake-up is refused', () => {
  const altered = (text: string, change: Record<string, unknown>) =>
    JSON.stringify({ ...jsonOf(text), ...change });
  const job = encodeFirstJob(jobWith());
  const wake = encodeWakeUp(wakeUp);
  const chunk = encodeFirstJob(chunkJobWith());

  it.each([
    ['text', 'hello', 'not_json'],
    ['an array', '[]', 'invalid_field:body'],
    ['a newer version', altered(wake, { v: 2 }), 'unknown_version'],
    ['no version', altered(wake, { v: undefined }), 'unknown_version'],
    ['another kind', altered(wake, { kind: 'unknown' }), 'unknown_kind'],
    ['attempt 0', altered(wake, { attempt: 0 }), 'invalid_field:attempt'],
    ['a fractional bucket', altered(wake, { bucket: 0.5 }), 'invalid_field:bucket'],
    ['no subscription', altered(wake, { subscriptionId: undefined }), 'invalid_field:subscriptionId'],
    ['half of a surrogate pair', altered(wake, { subscriptionId: '\ud800' }), 'invalid_field:subscriptionId'],
    [
      'an id longer than a key',
      altered(wake, { subscriptionId: 's'.repeat(1025) }),
      'invalid_field:subscriptionId',
    ],
    ['a due time that no date can be', altered(wake, { dueAt: 1e300 }), 'invalid_field:dueAt'],
    [
      'a time that no number of DynamoDB can be',
      altered(job, { acceptedAt: 2e-143 }),
      'invalid_field:acceptedAt',
    ],
    ['a due time as text', altered(wake, { dueAt: '5' }), 'invalid_field:dueAt'],
    ['a job that is not the first attempt', altered(job, { attempt: 2 }), 'invalid_field:attempt'],
    ['a job without a message', altered(job, { message: undefined }), 'message_missing'],
    [
      'a message of another version',
      altered(job, { message: { v: 9 } }),
      'invalid_field:message (unknown_version)',
    ],
    ['an empty payload key', altered(job, { payloadKey: '' }), 'invalid_field:payloadKey'],
    ['zero lost attempts', altered(job, { lost: 0 }), 'invalid_field:lost'],
    // npm run fuzz -- --seed 419 --target 'deployed work queues'
    [
      'a message whose id is too long for a key of S3',
      encodeFirstJob(jobWith({ body: { kind: 'inline', message: aMessage({ id: 'm'.repeat(65) }) } })),
      'invalid_field:message (invalid_field:id)',
    ],
    [
      'an id too long to be a part of a key',
      altered(wake, { messageId: 'm'.repeat(65) }),
      'invalid_field:messageId',
    ],
    ['a queue that is no name', altered(wake, { queue: 'a/b' }), 'invalid_field:queue'],
    // npm run fuzz -- --seed 52 --target 'deployed work queues'
    [
      'a retention too small for DynamoDB',
      altered(job, { retentionDays: 3e-323 }),
      'invalid_field:retentionDays',
    ],
    ['a chunk kept too long', altered(chunk, { retentionDays: 3651 }), 'invalid_field:retentionDays'],
    ['a fractional number of lost attempts', altered(job, { lost: 0.5 }), 'invalid_field:lost'],
    ['a chunk of another version', altered(chunk, { v: 2 }), 'unknown_version'],
    ['a chunk without its number', altered(chunk, { chunk: undefined }), 'invalid_field:chunk'],
    ['a negative chunk number', altered(chunk, { chunk: -1 }), 'invalid_field:chunk'],
    ['a chunk with a bucket as text', altered(chunk, { bucket: '2' }), 'invalid_field:bucket'],
    [
      'a chunk without subscriptions',
      altered(chunk, { subscriptionIds: [] }),
      'invalid_field:subscriptionIds',
    ],
    [
      'a chunk with an empty subscription id',
      altered(chunk, { subscriptionIds: ['s-1', ''] }),
      'invalid_field:subscriptionIds.1',
    ],
    [
      'a chunk with a subscription id instead of a list',
      altered(chunk, { subscriptionIds: 's-1' }),
      'invalid_field:subscriptionIds',
    ],
    ['a chunk without a message', altered(chunk, { message: undefined }), 'message_missing'],
    [
      'a chunk with a message of another version',
      altered(chunk, { message: { v: 9 } }),
      'invalid_field:message (unknown_version)',
    ],
    ['a chunk with an empty payload key', altered(chunk, { payloadKey: '' }), 'invalid_field:payloadKey'],
  ])('for %s', (_name, text, reason) => {
    expect(parseWork(text)).toEqual({ ok: false, reason });
  });
});

const recovery: Operation = { kind: 'recovery', queue: 'orders', recoveryId: 'r-1', orderedAt: 1 };
const cancellation: Operation = { kind: 'cancellation', queue: 'orders', deletedAt: 2 };
const movingUp: Operation = { kind: 'moving_up', queue: 'orders', subscriptionId: 's-1' };

describe('an encoded operation', () => {
  it.each<Operation>([
    recovery,
    cancellation,
    movingUp,
    { ...movingUp, cursor: 'c', settled: true },
    { ...cancellation, subscriptionId: 's-1', cursor: 'c', settled: true, failed: 2, looks: 1 },
  ])('is parsed from its encoding: %j', (operation) => {
    expect(JSON.parse(encodeOperation(operation))).toMatchObject({ v: 1 });
    expect(parseOperation(encodeOperation(operation))).toEqual({ ok: true, value: operation });
  });

  it('may contain unknown keys', () => {
    const text = JSON.stringify({ v: 1, ...recovery, more: true });
    expect(parseOperation(text)).toEqual({ ok: true, value: recovery });
  });

  it.each([
    ['not json', 'not_json'],
    ['[]', 'invalid_field:body'],
    ['null', 'invalid_field:body'],
    [JSON.stringify(recovery), 'unknown_version'],
    [JSON.stringify({ v: 2, ...recovery }), 'unknown_version'],
    [JSON.stringify({ ...recovery, v: 1, kind: 'unknown' }), 'unknown_kind'],
    [JSON.stringify({ v: 1 }), 'unknown_kind'],
    [JSON.stringify({ v: 1, ...recovery, queue: '' }), 'invalid_field:queue'],
    [JSON.stringify({ v: 1, ...recovery, recoveryId: 7 }), 'invalid_field:recoveryId'],
    [JSON.stringify({ v: 1, ...cancellation, deletedAt: '2' }), 'invalid_field:deletedAt'],
    [JSON.stringify({ v: 1, ...cancellation, settled: false }), 'invalid_field:settled'],
    [JSON.stringify({ v: 1, ...movingUp, subscriptionId: undefined }), 'invalid_field:subscriptionId'],
    [JSON.stringify({ v: 1, ...cancellation, looks: -1 }), 'invalid_field:looks'],
  ])('is refused with a reason if malformed: %s', (text, reason) => {
    expect(parseOperation(text)).toEqual({ ok: false, reason });
  });
});

const aDeadLetter = (fields: Partial<DeadLetter> = {}): DeadLetter => ({
  id: 'sqs-1',
  sentAt: 1,
  receipt: 'receipt',
  body: '{"queue":"orders","data":1}',
  attributes: {},
  ...fields,
});

const text = (value: string) => ({ type: 'String', text: value });
const attributesNamed = (...names: string[]): DeadLetterAttributes =>
  Object.fromEntries(names.map((name) => [name, text(name)]));

const job = jobWith();
const chunk = chunkJobWith();

const redriven = (reading: ReturnType<typeof readIngressDeadLetter>) => {
  if (reading.kind === 'skip') throw new Error(`skipped: ${reading.reason}`);
  return reading;
};

describe('redriving a dead letter of the ingress queue', () => {
  it('keeps its body and group unchanged, JSON or not', () => {
    const body = '{"queue": "orders",  "data": ';
    const { message } = redriven(readIngressDeadLetter(aDeadLetter({ body, group: 'tenant' })));
    expect(message).toMatchObject({ to: 'ingress', body, group: 'tenant' });
  });

  it('keeps its SQS id, which may be the message id', () => {
    const { message, identity } = redriven(readIngressDeadLetter(aDeadLetter()));
    expect(message.attributes).toEqual({ 'posthaste-id': text('sqs-1') });
    expect(identity).toBe('sqs-1');
  });

  it('keeps its original id and its attributes with their types, without the reason', () => {
    const attributes = {
      'posthaste-id': text('first-life'),
      reason: text('unknown_queue'),
      queue: text('orders'),
      count: { type: 'Number', text: '3' },
      picture: { type: 'Binary.png', bytes: Uint8Array.of(1, 2) },
    };
    const { message, identity } = redriven(readIngressDeadLetter(aDeadLetter({ attributes })));
    const { reason, ...others } = attributes;
    expect(message.attributes).toEqual(others);
    expect(reason.text).toBe('unknown_queue');
    expect(identity).toBe('first-life');
  });

  it('goes to another queue if one is given, with the id that it had', () => {
    const attributes = { reason: text('unknown_queue'), queue: text('ordrs') };
    const { message } = redriven(readIngressDeadLetter(aDeadLetter({ attributes }), 'orders'));
    expect(message.attributes).toEqual({ queue: text('orders'), 'posthaste-id': text('sqs-1') });
  });

  it('drops an attribute that dispatch does not read to stay within ten', () => {
    const names = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7', 'a8', 'a9', 'queue'];
    const { message } = redriven(
      readIngressDeadLetter(aDeadLetter({ attributes: attributesNamed(...names) })),
    );
    const kept = attributesNamed(...names.filter((name) => name !== 'a9'));
    expect(message.attributes).toEqual({ ...kept, 'posthaste-id': text('sqs-1') });
  });

  it('skips it if there is no room for its id', () => {
    const overhead = 'posthaste-idStringsqs-1'.length;
    const fits = aDeadLetter({ body: 'x'.repeat(1024 * 1024 - overhead) });
    expect(readIngressDeadLetter(fits).kind).toBe('redrive');
    expect(readIngressDeadLetter({ ...fits, body: `${fits.body}x` })).toEqual({
      kind: 'skip',
      reason: 'too_large',
    });
  });
});

describe('redriving a dead letter of the delivery or the retry queue', () => {
  it.each([
    { what: 'job', body: encodeFirstJob(job), to: 'delivery' },
    { what: 'wake-up', body: encodeWakeUp(wakeUp), to: 'retry' },
  ])("sends a $what to the $to queue, without attributes, in its subscription's group", ({ body, to }) => {
    const deadLetter = aDeadLetter({ body, attributes: attributesNamed('reason', 'posthaste-id') });
    expect(redriven(readDeliveryDeadLetter(deadLetter)).message).toEqual({
      to,
      body,
      attributes: {},
      group: 's-1',
    });
  });

  it("sends a chunk job to the delivery queue, in its queue's group", () => {
    const body = encodeFirstJob(chunk);
    const deadLetter = aDeadLetter({ body, attributes: attributesNamed('reason', 'posthaste-id') });
    expect(redriven(readDeliveryDeadLetter(deadLetter)).message).toEqual({
      to: 'delivery',
      body,
      attributes: {},
      group: 'orders',
    });
  });

  it('identifies it by attempt, subscription or chunk, not by its SQS id', () => {
    const identityOf = (body: string, id = 'sqs-1') =>
      redriven(readDeliveryDeadLetter(aDeadLetter({ body, id }))).identity;
    const others = [
      encodeFirstJob(job),
      encodeWakeUp(wakeUp),
      encodeWakeUp({ ...wakeUp, attempt: 3 }),
      encodeWakeUp({ ...wakeUp, key: { ...key, subscriptionId: 's-2' } }),
      encodeFirstJob(chunk),
      encodeFirstJob({ ...chunk, key: { ...chunk.key, messageId: 'm-2' } }),
      encodeFirstJob({ ...chunk, key: { ...chunk.key, bucket: 1 } }),
      encodeFirstJob({ ...chunk, key: { ...chunk.key, chunk: 2 } }),
      // A copy with other subscriptions is different work.
      encodeFirstJob({ ...chunk, subscriptionIds: ['s-1', 's-3'] }),
    ];
    for (const body of [encodeWakeUp(wakeUp), encodeFirstJob(chunk)])
      expect(identityOf(body, 'sqs-2')).toBe(identityOf(body));
    expect(new Set(others.map((body) => identityOf(body))).size).toBe(others.length);
  });

  it.each([
    ['not_json', 'oops'],
    ['unknown_kind', '{"v":1,"kind":"unknown"}'],
    ['unknown_version', '{"v":9,"kind":"job"}'],
  ])('skips it as %s if deliver cannot parse it', (reason, body) => {
    expect(readDeliveryDeadLetter(aDeadLetter({ body }))).toEqual({ kind: 'skip', reason });
  });
});

describe('redriving a dead letter of the operation queue', () => {
  const cancellation = { kind: 'cancellation', queue: 'orders', deletedAt: 1, cursor: 'page-7' } as const;

  it('keeps its body unchanged, without the attributes added when it was dead-lettered', () => {
    const body = encodeOperation(cancellation);
    const deadLetter = aDeadLetter({ body, attributes: attributesNamed('reason') });
    expect(redriven(readOperationDeadLetter(deadLetter)).message).toEqual({
      to: 'operation',
      body,
      attributes: {},
    });
  });

  it('identifies it by operation and page, not by its SQS id', () => {
    const identityOf = (operation: Operation, id = 'sqs-1') =>
      redriven(readOperationDeadLetter(aDeadLetter({ body: encodeOperation(operation), id }))).identity;
    const recovery = { kind: 'recovery', queue: 'orders', recoveryId: 'r-1', orderedAt: 1 } as const;
    const others: Operation[] = [
      cancellation,
      { ...cancellation, cursor: 'page-8' },
      { ...cancellation, queue: 'bills' },
      recovery,
    ];
    expect(identityOf(cancellation, 'sqs-2')).toBe(identityOf(cancellation));
    expect(new Set(others.map((other) => identityOf(other))).size).toBe(others.length);
  });

  it.each([
    ['not_json', 'oops'],
    ['unknown_kind', '{"v":1,"kind":"unknown"}'],
    ['unknown_version', '{"v":9,"kind":"recovery"}'],
  ])('skips it as %s if operate cannot parse it', (reason, body) => {
    expect(readOperationDeadLetter(aDeadLetter({ body }))).toEqual({ kind: 'skip', reason });
  });
});
