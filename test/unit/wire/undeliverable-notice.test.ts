import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { deliveryView, deliveryViewSchema } from '../../../shared/wire/views/delivery.ts';
import { parseJson, propertySource } from '../../../shared/wire/json-slice.ts';
import {
  encodeUndeliverableNotice,
  undeliverableNoticeSchema,
} from '../../../shared/wire/jobs/dead-letter.ts';
import { aDelivery, answered } from '../../support/delivery-builders.ts';
import { jsonText } from './json-text.ts';

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
