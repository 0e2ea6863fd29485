import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { eventLine } from '../../../cli/commands/start/demo/event-line.ts';
import type { OperatorEventMessage } from '../../../shared/wire/events/operator-event.ts';

const names = { subscriber: () => 'hopeless', message: () => 'm2' };
const at = new Date(2027, 0, 15, 8, 30, 1, 7);
const about = { deployment: 'Posthaste', queue: 'demo', subscriptionId: 's-1' };
const time = '2027-01-10T00:00:00.000Z';

const samples: [OperatorEventMessage, string][] = [
  [
    {
      source: 'posthaste',
      'detail-type': 'delivery.exhausted',
      detail: { ...about, messageId: 'm', attempts: 6, at: time },
    },
    '08:30:01.007  event delivery.exhausted  m2 to hopeless, after 6 attempts',
  ],
  [
    {
      source: 'posthaste',
      'detail-type': 'attempt.failed',
      detail: { ...about, messageId: 'm', attempt: 2, outcome: 'rejected', statusCode: 404, at: time },
    },
    '08:30:01.007  event attempt.failed  m2 to hopeless, attempt 2 rejected',
  ],
  [
    {
      source: 'posthaste',
      'detail-type': 'subscription.disabled',
      detail: { ...about, reason: 'gone', at: time },
    },
    '08:30:01.007  event subscription.disabled  hopeless, gone',
  ],
  [
    {
      source: 'posthaste',
      'detail-type': 'subscription.failing',
      detail: { ...about, since: time, failures: 20 },
    },
    `08:30:01.007  event subscription.failing  hopeless, 20 failures since ${time}`,
  ],
  [
    {
      source: 'posthaste',
      'detail-type': 'subscription.certificate_expiring',
      detail: { ...about, expiresAt: time, days: 7 },
    },
    `08:30:01.007  event subscription.certificate_expiring  hopeless, at ${time}`,
  ],
  [
    {
      source: 'posthaste',
      'detail-type': 'subscription.recovered',
      detail: { ...about, since: time, at: time },
    },
    `08:30:01.007  event subscription.recovered  hopeless, had failed since ${time}`,
  ],
];

describe('the line of an operator event', () => {
  it.each(samples)('shows the event in at most 100 columns: %j', (event, line) => {
    const printed = stripVTControlCharacters(eventLine(event, names, at));
    expect(printed).toBe(line);
    expect(printed.length).toBeLessThanOrEqual(100);
  });
});
