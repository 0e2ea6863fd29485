import { describe, expect, it } from 'vitest';
import type { OperatorEvent } from '../../../shared/domain/delivery/operator-event.ts';
import { operatorEventMessage, operatorEventSchema } from '../../../shared/wire/events/operator-event.ts';

const at = Date.UTC(2027, 0, 15, 8, 0, 0, 7);
const since = Date.UTC(2027, 0, 10);
const ids = { queue: 'orders', subscriptionId: 's-1' };

const samples: { event: OperatorEvent; detail: Record<string, unknown> }[] = [
  {
    event: { type: 'subscription.disabled', ...ids, reason: 'failing', at },
    detail: { reason: 'failing', at: '2027-01-15T08:00:00.007Z' },
  },
  {
    event: { type: 'subscription.failing', ...ids, since, failures: 20 },
    detail: { since: '2027-01-10T00:00:00.000Z', failures: 20 },
  },
  {
    event: { type: 'subscription.recovered', ...ids, since, at },
    detail: { since: '2027-01-10T00:00:00.000Z', at: '2027-01-15T08:00:00.007Z' },
  },
  {
    event: { type: 'subscription.certificate_expiring', ...ids, expiresAt: at, days: 7 },
    detail: { expiresAt: '2027-01-15T08:00:00.007Z', days: 7 },
  },
  {
    event: { type: 'subscription.slowed', ...ids, reason: 'circuit_open', since, until: at },
    detail: { reason: 'circuit_open', since: '2027-01-10T00:00:00.000Z', until: '2027-01-15T08:00:00.007Z' },
  },
  {
    event: { type: 'subscription.resumed', ...ids, reason: 'receiver_throttled', since, at },
    detail: {
      reason: 'receiver_throttled',
      since: '2027-01-10T00:00:00.000Z',
      at: '2027-01-15T08:00:00.007Z',
    },
  },
  {
    event: { type: 'delivery.exhausted', key: { ...ids, messageId: 'm-1', bucket: 3 }, attempts: 20, at },
    detail: { messageId: 'm-1', attempts: 20, at: '2027-01-15T08:00:00.007Z' },
  },
  {
    event: {
      type: 'attempt.failed',
      key: { ...ids, messageId: 'm-1', bucket: 3 },
      attempt: 2,
      outcome: 'failed',
      error: 'timeout: connecting',
      at: since,
      nextAt: at,
    },
    detail: {
      messageId: 'm-1',
      attempt: 2,
      outcome: 'failed',
      error: 'timeout: connecting',
      at: '2027-01-10T00:00:00.000Z',
      nextAt: '2027-01-15T08:00:00.007Z',
    },
  },
];

describe('an operator event on the bus', () => {
  it.each(samples)('contains its details: $event.type', ({ event, detail }) => {
    expect(operatorEventMessage(event, 'Posthaste')).toEqual({
      source: 'posthaste',
      'detail-type': event.type,
      detail: { deployment: 'Posthaste', ...ids, ...detail },
    });
  });

  it.each(samples)('can be parsed by a target: $event.type', ({ event }) => {
    const message = operatorEventMessage(event, 'Posthaste');
    const envelope = { version: '0', id: 'e-1', account: '000000000000', resources: [], ...message };
    expect(operatorEventSchema.parse(envelope)).toEqual(message);
  });
});
