import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OperatorEvent } from '../../../shared/domain/delivery/operator-event.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import type { PressureState } from '../../../shared/domain/subscription/subscription.ts';
import { operatorEventMessage, operatorEventSchema } from '../../../shared/wire/events/operator-event.ts';
import { parseJson, propertySource } from '../../../shared/wire/json-slice.ts';
import { deliveryViewSchema } from '../../../shared/wire/views/delivery.ts';
import { deliverySummary, deliveryView } from '../../../shared/wire/views/shown-delivery.ts';
import { subscriptionView } from '../../../shared/wire/views/subscription.ts';
import { aDelivery, anAttempt, answered, SOME_TIME } from '../../support/delivery-builders.ts';
import { aSlowed, under } from '../../support/pressure.ts';
import { jsonText } from './json-text.ts';
import { encodeUndeliverableNotice } from '../../../shared/wire/jobs/dead-letter.ts';
import { undeliverableNoticeSchema } from '../../../shared/wire/jobs/redrive.ts';

const NOW = SOME_TIME;
const text = (ms: number): string => new Date(NOW + ms).toISOString();

const viewOf = (state: PressureState, max_per_second = 1_000) =>
  subscriptionView(under(state, { options: { max_per_second } }), NOW).backPressure;

describe('the view of a subscription', () => {
  it.each([
    { state: 'watched' },
    { state: 'ended' },
    { state: 'ending', reason: 'circuit_open' },
    { state: 'ramping', line: NOW - 600_000 },
  ] as const)('has no back-pressure while no delivery waits: %o', (state) => {
    expect(viewOf(state)).toBeUndefined();
  });

  it('says why and since when deliveries wait, and the rate, which max_per_second bounds', () => {
    const since = text(0);
    const throttled = { reason: 'receiver_throttled', since };
    expect(viewOf(aSlowed())).toEqual({ ...throttled, perSecond: 4 });
    expect(viewOf(aSlowed(), 2)).toEqual({ ...throttled, perSecond: 2 });
    expect(viewOf({ state: 'held' })).toEqual({ reason: 'circuit_open', since });
    expect(viewOf({ state: 'ramping', line: NOW - 4_000 })).toEqual({
      reason: 'circuit_open',
      since,
      perSecond: 40,
    });
  });
});

const startedAt = Date.UTC(2026, 0, 2, 3, 4, 5, 6);

const key = { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1', bucket: 0 };

const exhausted = aDelivery({
  key,
  acceptedAt: startedAt - 20,
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
  acceptedAt: '2026-01-02T03:04:04.986Z',
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
  const next = { number: 1, phase: 'initial', dueAt: NOW, by: 'sqs_delay' } as const;

  it.each([
    [undefined, 'rate_limited'],
    ['receiver_throttled', 'receiver_throttled'],
    ['circuit_open', 'circuit_open'],
  ] as const)('says why it waits: slot of %s', (reason, waiting) => {
    const slot = { at: NOW + 750, epoch: 'e', ...(reason && { reason }) };
    const delivery = aDelivery({ status: 'pending', next, slot });
    expect(deliveryView(delivery).nextAttempt).toMatchObject({ waiting, dueAt: text(750) });
    expect(deliverySummary(delivery)).toMatchObject({ waiting, nextAttemptAt: text(750) });
  });

  it('says nothing of that while it only waits for its due time', () => {
    expect(deliveryView(aDelivery({ next })).nextAttempt).not.toHaveProperty('waiting');
  });

  it('contains its attempts and times as text and no internal fields, as its schema says', () => {
    expect(deliveryView(exhausted)).toEqual(view);
    expect(deliveryViewSchema.parse(JSON.parse(JSON.stringify(view)))).toEqual(view);
  });

  it('contains its next attempt and the mechanism', () => {
    const nextAttempt = { ...next, dueAt: text(0) };
    expect(deliveryView(aDelivery({ next }))).toMatchObject({ nextAttemptAt: text(0), nextAttempt });
  });

  it('says while an attempt is in flight since when, and until when its lease runs', () => {
    const leased = aDelivery({ lease: { owner: 'o', until: NOW + 23_000 }, updatedAt: NOW });
    const inFlight = { since: text(0), until: text(23_000) };
    expect(deliveryView(leased)).toMatchObject({ inFlight });
    expect(deliverySummary(leased)).toMatchObject({ inFlight });
    const received = { owner: 'o', until: NOW + 23_000, receivedAt: NOW - 5 };
    expect(deliveryView({ ...leased, lease: received }).inFlight?.since).toBe(text(-5));
  });

  it('says nothing of a request that was in flight when the delivery ended', () => {
    const cancelled = aDelivery({ status: 'cancelled', lease: { owner: 'o', until: NOW + 23_000 } });
    expect(deliveryView(cancelled)).not.toHaveProperty('inFlight');
  });

  it('has a null policy before the first failure', () => {
    expect(deliveryView(aDelivery({ key }))).toMatchObject({ status: 'pending', attempts: [], policy: null });
  });
});

describe('the waits of a delivery', () => {
  const waited = [{ reason: 'circuit_open', ms: 9_000 }] as const;

  it('are shown with an attempt, and added up in a listing', () => {
    const attempts = [anAttempt({ number: 2, phase: 'backoff', waited, dueAt: startedAt, startedAt })];
    const delivery = aDelivery({ status: 'delivered', attempts });
    expect(deliveryView(delivery).attempts).toMatchObject([{ waited }]);
    expect(deliverySummary(delivery)).toMatchObject({ waited });
  });

  it('are absent if there were none', () => {
    const delivery = aDelivery({ acceptedAt: startedAt, attempts: [anAttempt({ startedAt })] });
    expect(deliveryView(delivery).attempts[0]).not.toHaveProperty('waited');
    expect(deliverySummary(delivery)).not.toHaveProperty('waited');
  });

  it('are shown with the next attempt, and since when it waits', () => {
    const next = { number: 1, phase: 'initial', dueAt: startedAt, by: 'sqs_delay' } as const;
    const delivery = aDelivery({ next: { ...next, waited, waitingSince: startedAt }, slot: { at: 0 } });
    const waitingSince = new Date(startedAt).toISOString();
    const shown = { waiting: 'rate_limited', waitingSince, waited };
    expect(deliveryView(delivery).nextAttempt).toMatchObject(shown);
    expect(deliverySummary(delivery)).toMatchObject(shown);
  });
});

describe('an undeliverable notice', () => {
  it('contains the delivery, the last status and the data byte for byte', () => {
    fc.assert(
      fc.property(jsonText, (data) => {
        const json = parseJson(encodeUndeliverableNotice(exhausted, { data }));
        expect(json && propertySource(json, 'data')).toBe(data);
        expect(undeliverableNoticeSchema.parse(json?.value)).toEqual({ ...view, lastStatus: null });
      }),
      { numRuns: 200 },
    );
  });

  it('contains the HTTP status of the last attempt', () => {
    const answered = aDelivery({ ...exhausted, attempts: exhausted.attempts.slice(0, 1) });
    expect(JSON.parse(encodeUndeliverableNotice(answered))).toMatchObject({ lastStatus: 503 });
  });

  it('contains a reference to data that is too large, and omits erased data', () => {
    const dataRef = 's3://bucket/key';
    const without = { ...view, lastStatus: null };
    const referring = encodeUndeliverableNotice(exhausted, { dataRef });
    expect(JSON.parse(referring)).toEqual({ ...without, dataRef });
    expect(JSON.parse(encodeUndeliverableNotice(exhausted))).toEqual(without);
  });
});

const at = Date.UTC(2027, 0, 15, 8, 0, 0, 7);
const since = Date.UTC(2027, 0, 10);
const [AT, SINCE] = ['2027-01-15T08:00:00.007Z', '2027-01-10T00:00:00.000Z'];
const ids = { queue: 'orders', subscriptionId: 's-1' };
const timedOut = { outcome: 'failed', error: 'timeout: connecting' } as const;

const samples: { event: OperatorEvent; detail: Record<string, unknown> }[] = [
  {
    event: { type: 'subscription.disabled', ...ids, reason: 'failing', at },
    detail: { reason: 'failing', at: AT },
  },
  {
    event: { type: 'subscription.failing', ...ids, since, failures: 20 },
    detail: { since: SINCE, failures: 20 },
  },
  {
    event: { type: 'subscription.recovered', ...ids, since, at },
    detail: { since: SINCE, at: AT },
  },
  {
    event: { type: 'subscription.certificate_expiring', ...ids, expiresAt: at, days: 7 },
    detail: { expiresAt: AT, days: 7 },
  },
  {
    event: { type: 'subscription.slowed', ...ids, reason: 'circuit_open', since, until: at },
    detail: { reason: 'circuit_open', since: SINCE, until: AT },
  },
  {
    event: { type: 'subscription.resumed', ...ids, reason: 'receiver_throttled', since, at },
    detail: { reason: 'receiver_throttled', since: SINCE, at: AT },
  },
  {
    event: { type: 'delivery.exhausted', key: { ...ids, messageId: 'm-1', bucket: 3 }, attempts: 20, at },
    detail: { messageId: 'm-1', attempts: 20, at: AT },
  },
  {
    event: {
      type: 'attempt.failed',
      key: { ...ids, messageId: 'm-1', bucket: 3 },
      attempt: 2,
      ...timedOut,
      at: since,
      nextAt: at,
    },
    detail: { messageId: 'm-1', attempt: 2, ...timedOut, at: SINCE, nextAt: AT },
  },
];

it.each(samples)(
  'an operator event on the bus has its details, and a target can parse it: $event.type',
  (sample) => {
    const message = operatorEventMessage(sample.event, 'Posthaste');
    expect(message).toEqual({
      source: 'posthaste',
      'detail-type': sample.event.type,
      detail: { deployment: 'Posthaste', ...ids, ...sample.detail },
    });
    const envelope = { version: '0', id: 'e-1', account: '000000000000', resources: [], ...message };
    expect(operatorEventSchema.parse(envelope)).toEqual(message);
  },
);

it('an operator event is sent although its schema would refuse it, since it reports what has happened', () => {
  const event = { type: 'subscription.failing', ...ids, since, failures: 0 } as const;
  expect(operatorEventMessage(event, 'Posthaste').detail).toMatchObject({ failures: 0 });
});
