import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DeadLetter, DeadLetterAttributes } from '../../../shared/domain/delivery/dead-letter.ts';
import type { ChunkJob, DeliveryJob, WakeUp } from '../../../shared/domain/delivery/job.ts';
import type { Operation } from '../../../shared/domain/recovery/operation.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import {
  encodeUndeliverableNotice,
  readDeliveryDeadLetter,
  readIngressDeadLetter,
  readOperationDeadLetter,
  undeliverableNoticeSchema,
} from '../../../shared/wire/jobs/dead-letter.ts';
import { encodeFirstJob, encodeWakeUp } from '../../../shared/wire/jobs/delivery-job.ts';
import { encodeOperation } from '../../../shared/wire/jobs/operation.ts';
import { parseJson, propertySource } from '../../../shared/wire/json-slice.ts';
import { deliveryView, deliveryViewSchema } from '../../../shared/wire/views/delivery.ts';
import { aMessage } from '../../support/builders.ts';
import { aDelivery, answered } from '../../support/delivery-builders.ts';
import { jsonText } from './json-text.ts';

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

const key = { queue: 'orders', messageId: 'm', subscriptionId: 's-1', bucket: 0 };
const job: DeliveryJob = {
  kind: 'job',
  key,
  attempt: 1,
  acceptedAt: 1,
  body: { kind: 'inline', message: aMessage() },
};
const chunk: ChunkJob = {
  kind: 'chunk',
  key: { queue: 'orders', messageId: 'm', bucket: 0, chunk: 1 },
  subscriptionIds: ['s-1', 's-2'],
  acceptedAt: 1,
  body: job.body,
};
const wakeUp: WakeUp = { kind: 'wake_up', key, attempt: 2, dueAt: 5, by: 'scheduler' };

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

describe('the notice of an undeliverable message', () => {
  const startedAt = Date.UTC(2026, 0, 2, 3, 4, 5, 6);

  const key = { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1', bucket: 0 };

  const exhausted = aDelivery({
    key,
    status: 'exhausted',
    reason: 'retries_exhausted',
    policy: DEFAULT_RETRY_POLICY,
    attempts: [
      {
        number: 1,
        round: 1,
        phase: 'initial',
        startedAt,
        durationMs: 12,
        outcome: 'failed',
        result: answered(503, 'busy'),
      },
      {
        number: 2,
        round: 1,
        phase: 'immediate',
        startedAt: startedAt + 50,
        durationMs: 5,
        outcome: 'failed',
        result: { kind: 'unanswered', error: 'timeout' },
        lost: 1,
      },
    ],
    lateResults: [
      {
        ...{ number: 2, round: 1, phase: 'immediate', startedAt, durationMs: 1, outcome: 'delivered' },
        result: { kind: 'acknowledged' },
      },
    ],
    lease: { owner: 'me', until: startedAt },
  });

  const view = {
    queue: 'orders',
    messageId: 'm-1',
    subscriptionId: 's-1',
    status: 'exhausted',
    reason: 'retries_exhausted',
    attempts: [
      {
        number: 1,
        round: 1,
        phase: 'initial',
        startedAt: '2026-01-02T03:04:05.006Z',
        durationMs: 12,
        outcome: 'failed',
        statusCode: 503,
        snippet: 'busy',
      },
      {
        number: 2,
        round: 1,
        phase: 'immediate',
        startedAt: '2026-01-02T03:04:05.056Z',
        durationMs: 5,
        outcome: 'failed',
        error: 'timeout',
        lost: 1,
      },
    ],
    lateResults: [
      {
        number: 2,
        round: 1,
        phase: 'immediate',
        startedAt: '2026-01-02T03:04:05.006Z',
        durationMs: 1,
        outcome: 'delivered',
      },
    ],
    policy: DEFAULT_RETRY_POLICY,
  };

  describe('the view of a delivery', () => {
    it('contains its attempts and times as text, and no internal fields', () => {
      expect(deliveryView(exhausted)).toEqual(view);
    });

    it('contains its next attempt and the mechanism', () => {
      const next = { number: 2, phase: 'backoff', dueAt: startedAt, by: 'scheduler' } as const;
      expect(deliveryView(aDelivery({ status: 'retrying', next }))).toMatchObject({
        nextAttemptAt: '2026-01-02T03:04:05.006Z',
        nextAttempt: { number: 2, phase: 'backoff', dueAt: '2026-01-02T03:04:05.006Z', by: 'scheduler' },
      });
    });

    it('has a null policy before the first failure', () => {
      expect(deliveryView(aDelivery({ key }))).toEqual({
        queue: 'orders',
        messageId: 'm-1',
        subscriptionId: 's-1',
        status: 'pending',
        attempts: [],
        policy: null,
      });
    });

    it('matches its schema', () => {
      expect(deliveryViewSchema.parse(JSON.parse(JSON.stringify(deliveryView(exhausted))))).toEqual(view);
    });
  });

  describe('an undeliverable notice', () => {
    it('contains the delivery, the last status and the data byte for byte', () => {
      fc.assert(
        fc.property(jsonText, (data) => {
          const json = parseJson(encodeUndeliverableNotice(exhausted, { kind: 'inline', data }));
          expect(json && propertySource(json, 'data')).toBe(data);
          expect(undeliverableNoticeSchema.parse(json?.value)).toEqual({ ...view, lastStatus: null });
        }),
        { numRuns: 200 },
      );
    });

    it('contains the HTTP status of the last attempt', () => {
      const answered = aDelivery({ ...exhausted, attempts: exhausted.attempts.slice(0, 1) });
      expect(JSON.parse(encodeUndeliverableNotice(answered, { kind: 'gone' }))).toMatchObject({
        lastStatus: 503,
      });
    });

    it('contains a reference to data that is too large', () => {
      const text = encodeUndeliverableNotice(exhausted, { kind: 'reference', dataRef: 's3://bucket/key' });
      expect(JSON.parse(text)).toEqual({ ...view, lastStatus: null, dataRef: 's3://bucket/key' });
    });

    it('omits erased data', () => {
      expect(JSON.parse(encodeUndeliverableNotice(exhausted, { kind: 'gone' }))).toEqual({
        ...view,
        lastStatus: null,
      });
    });
  });
});
