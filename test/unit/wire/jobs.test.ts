import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DeadLetter, DeadLetterAttributes } from '../../../shared/domain/delivery/dead-letter.ts';
import type { ChunkJob, DeliveryJob, WakeUp } from '../../../shared/domain/delivery/job.ts';
import type { Operation } from '../../../shared/domain/recovery/operation.ts';
import {
  readDeliveryDeadLetter,
  readIngressDeadLetter,
  readOperationDeadLetter,
} from '../../../shared/wire/jobs/redrive.ts';
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

describe.each([
  ['a delivery job', jobWith],
  ['a job for a chunk', chunkJobWith],
] as const)('%s', (_what, jobWithFields) => {
  it('is parsed with the data of its message byte for byte', () => {
    fc.assert(
      fc.property(jsonText, fc.option(fc.nat(), { nil: undefined }), (data, dueAt) => {
        const body = { kind: 'inline', message: aMessage({ data }) } as const;
        const job = jobWithFields({ body, ...(dueAt === undefined ? {} : { dueAt }) });
        expect(parseWork(encodeFirstJob(job))).toEqual({ ok: true, value: job });
      }),
      { numRuns: 300 },
    );
  });

  it('is parsed with the key of a stored message', () => {
    const body = { kind: 'stored', payloadKey: 'orders/m-1/x' } as const;
    const job = jobWithFields({ body, dueAt: 5, retentionDays: 15 });
    expect(parseWork(encodeFirstJob(job))).toEqual({ ok: true, value: job });
  });

  it('ignores unknown keys', () => {
    const text = encodeFirstJob(jobWithFields()).replace('{', '{"later":{"message":1},');
    expect(parseWork(text)).toEqual({ ok: true, value: jobWithFields() });
  });
});

it('the lost attempts of a delivery job are parsed, and omitted if there are none', () => {
  const job = jobWith({ lost: 2 });
  expect(parseWork(encodeFirstJob(job))).toEqual({ ok: true, value: job });
  expect(jsonOf(encodeFirstJob(jobWith()))).not.toHaveProperty('lost');
});

it('a job for a chunk contains its message once, not per member, and its members in their order', () => {
  const subscriptionIds = Array.from({ length: 25 }, (_, index) => `s-${24 - index}`);
  const message = aMessage({ data: '"only-once"' });
  const job = chunkJobWith({ subscriptionIds, body: { kind: 'inline', message } });
  expect(encodeFirstJob(job).split('only-once')).toHaveLength(2);
  expect(parseWork(encodeFirstJob(job))).toEqual({ ok: true, value: job });
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
  const tooLong: unknown = JSON.parse(encodeMessage(aMessage({ id: 'm'.repeat(65) })));

  it.each([
    ['text', 'hello', 'not_json'],
    ['an array', '[]', 'invalid_field:body'],
    ['a newer version', altered(wake, { v: 2 }), 'unknown_version'],
    ['no version', altered(wake, { v: undefined }), 'unknown_version'],
    ['another kind', altered(wake, { kind: 'unknown' }), 'unknown_kind'],
    ['a chunk of another version', altered(chunk, { v: 2 }), 'unknown_version'],
    ['a job without a message', altered(job, { message: undefined }), 'message_missing'],
    ['a chunk without a message', altered(chunk, { message: undefined }), 'message_missing'],
  ])('for %s', (_name, text, reason) => {
    expect(parseWork(text)).toEqual({ ok: false, reason });
  });

  it.each<[what: string, text: string, change: Record<string, unknown>, inside?: string]>([
    ['attempt 0', wake, { attempt: 0 }],
    ['a fractional bucket', wake, { bucket: 0.5 }],
    ['no subscription', wake, { subscriptionId: undefined }],
    ['half of a surrogate pair', wake, { subscriptionId: '\ud800' }],
    ['an id longer than a key', wake, { subscriptionId: 's'.repeat(1025) }],
    ['a due time that no date can be', wake, { dueAt: 1e300 }],
    ['a due time as text', wake, { dueAt: '5' }],
    ['an id too long to be a part of a key', wake, { messageId: 'm'.repeat(65) }],
    ['a queue that is no name', wake, { queue: 'a/b' }],
    ['a time that no number of DynamoDB can be', job, { acceptedAt: 2e-143 }],
    ['a job that is not the first attempt', job, { attempt: 2 }],
    ['a message of another version', job, { message: { v: 9 } }, ' (unknown_version)'],
    // npm run fuzz -- --seed 419 --target 'deployed work queues'
    ['a message whose id is too long for a key of S3', job, { message: tooLong }, ' (invalid_field:id)'],
    ['an empty payload key', job, { payloadKey: '' }],
    ['zero lost attempts', job, { lost: 0 }],
    ['a fractional number of lost attempts', job, { lost: 0.5 }],
    // npm run fuzz -- --seed 52 --target 'deployed work queues'
    ['a retention too small for DynamoDB', job, { retentionDays: 3e-323 }],
    ['a chunk kept too long', chunk, { retentionDays: 3651 }],
    ['a chunk without its number', chunk, { chunk: undefined }],
    ['a negative chunk number', chunk, { chunk: -1 }],
    ['a chunk with a bucket as text', chunk, { bucket: '2' }],
    ['a chunk without subscriptions', chunk, { subscriptionIds: [] }],
    ['a chunk with a subscription id instead of a list', chunk, { subscriptionIds: 's-1' }],
    ['a chunk with an empty payload key', chunk, { payloadKey: '' }],
    ['a chunk with a message of another version', chunk, { message: { v: 9 } }, ' (unknown_version)'],
  ])('for %s, and names its field', (_name, text, change, inside = '') => {
    const [field] = Object.keys(change);
    expect(parseWork(altered(text, change))).toEqual({
      ok: false,
      reason: `invalid_field:${field}${inside}`,
    });
  });

  it('for an empty subscription id in a chunk, by its place', () => {
    const text = altered(chunk, { subscriptionIds: ['s-1', ''] });
    expect(parseWork(text)).toEqual({ ok: false, reason: 'invalid_field:subscriptionIds.1' });
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
    { what: 'job', body: encodeFirstJob(job), to: 'delivery', group: 's-1' },
    { what: 'wake-up', body: encodeWakeUp(wakeUp), to: 'retry', group: 's-1' },
    { what: 'chunk job', body: encodeFirstJob(chunk), to: 'delivery', group: 'orders' },
  ])('sends a $what to the $to queue in the group $group, without attributes', ({ body, to, group }) => {
    const deadLetter = aDeadLetter({ body, attributes: attributesNamed('reason', 'posthaste-id') });
    const { message } = redriven(readDeliveryDeadLetter(deadLetter));
    expect(message).toEqual({ to, body, attributes: {}, group });
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
});

it.each([
  ['not_json', 'oops'],
  ['unknown_kind', '{"v":1,"kind":"unknown"}'],
  ['unknown_version', '{"v":9,"kind":"job"}'],
])('a dead letter that deliver or operate cannot parse is skipped as %s', (reason, body) => {
  for (const read of [readDeliveryDeadLetter, readOperationDeadLetter])
    expect(read(aDeadLetter({ body }))).toEqual({ kind: 'skip', reason });
});
