import { describe, expect, it } from 'vitest';
import { isSampled, levelOf, lineOf, successOf } from '../../../shared/adapters/log/journal-lines.ts';
import { anAttempt, SOME_TIME, answered } from '../../support/delivery-builders.ts';
import { aFact, everyFact, everyOperatorEvent, factKey } from '../../support/every-fact.ts';

const ids = { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1' };

describe('the line of a fact', () => {
  it.each(everyFact)('has its ids at the top level: $fact', (fact) => {
    const line = lineOf(fact);
    expect(line).toMatchObject({ fact: fact.fact });
    if ('key' in fact) expect(line).toMatchObject(ids);
    if ('message' in fact) expect(line).toMatchObject({ queue: 'orders', messageId: 'm-1' });
    expect(line).not.toHaveProperty('key');
    expect(line).not.toHaveProperty('message');
    expect(line).not.toHaveProperty('bucket');
  });

  it.each(everyFact)('uses no key reserved by the logger: $fact', (fact) => {
    const reserved = ['level', 'message', 'sampling_rate', 'service', 'timestamp'];
    expect(Object.keys(lineOf(fact)).filter((key) => reserved.includes(key))).toEqual([]);
  });

  it('of an attempt contains all of it except the response snippet', () => {
    const result = answered(503, 'card 4111');
    const attempt = anAttempt({ number: 4, phase: 'backoff', result, lost: 1 });
    const line = lineOf(aFact('attempt_made', { attempt, nextAt: 9, nextBy: 'sqs_delay' }));
    expect(line).toMatchObject({
      ...ids,
      attempt: 4,
      round: 1,
      phase: 'backoff',
      outcome: 'failed',
      statusCode: 503,
      durationMs: 120,
      dueAt: SOME_TIME - 40,
      startedAt: SOME_TIME,
      latenessMs: 40,
      lost: 1,
      status: 'retrying',
      nextAt: 9,
      nextBy: 'sqs_delay',
    });
    expect(JSON.stringify(line)).not.toContain('4111');
  });

  it('of a late result does not contain the response snippet', () => {
    const attempt = anAttempt({ result: answered(503, 'card 4111') });
    expect(JSON.stringify(lineOf(aFact('late_result', { attempt })))).not.toContain('4111');
  });

  it.each(everyOperatorEvent)('of an operator event contains its type and ids: $type', (event) => {
    const line = lineOf(aFact('operator_event_sent', { event }));
    expect(line).toMatchObject({ event: event.type, queue: 'orders', subscriptionId: 's-1' });
    expect(line).not.toHaveProperty('bucket');
  });

  it.each([
    'health_not_recorded',
    'statistics_not_written',
    'attempt_events_lost',
    'confirmation_not_sent',
    'operation_failed_for',
  ] as const)('of %s contains the error', (name) => {
    expect(lineOf(aFact(name))).toMatchObject({ error: { name: 'TypeError' } });
  });
});

describe('the level of a fact', () => {
  it('is a warning if an operator should look, and an error after an exception', () => {
    const at = (level: string) => everyFact.filter((fact) => levelOf(fact) === level).map(({ fact }) => fact);
    expect(at('warn')).toEqual([
      'message_refused',
      'filter_too_costly',
      'late_result',
      'lease_lost',
      'schedule_refused',
      'dead_lettered',
      'reconciled',
      'operation_dropped',
      'cancellation_given_up',
      'policy_adjusted',
      'statistics_not_written',
      'attempt_events_lost',
      'aws_call_failed',
    ]);
    expect(at('error')).toEqual([
      'operation_failed_for',
      'slot_not_reserved',
      'health_not_recorded',
      'confirmation_not_sent',
    ]);
    expect(at('debug')).toEqual(['wake_up_set', 'reconcile_ran', 'polled']);
  });

  it('of a failed AWS call is a warning only if it was throttled', () => {
    expect(levelOf(aFact('aws_call_failed', { throttled: false }))).toBe('info');
  });
});

describe('a fact that can be sampled', () => {
  const attemptMade = (overrides: Parameters<typeof anAttempt>[0]) =>
    aFact('attempt_made', { attempt: anAttempt(overrides) });

  it.each([
    aFact('message_accepted'),
    attemptMade({ outcome: 'delivered' }),
    aFact('slot_awaited', { attempt: 1 }),
  ])('belongs to a message that succeeds at the first attempt: $fact', (fact) => {
    expect(successOf(fact)).toMatchObject({ queue: factKey.queue, messageId: factKey.messageId });
  });

  it('is not a duplicate with different content, which is always logged as a warning', () => {
    const differing = aFact('message_accepted', { duplicate: true, differs: true });
    expect(successOf(differing)).toBeUndefined();
    expect(levelOf(differing)).toBe('warn');
  });

  it.each([
    ['failed', attemptMade({ outcome: 'failed' })],
    ['was rejected', attemptMade({ outcome: 'rejected' })],
    ['succeeded after failures', attemptMade({ outcome: 'delivered', number: 2 })],
    ['may have been made before', attemptMade({ outcome: 'delivered', lost: 1 })],
    ['is a retry that waits for a slot', aFact('slot_awaited', { attempt: 2 })],
  ])('is not an attempt that %s', (_, fact) => {
    expect(successOf(fact)).toBeUndefined();
  });

  it.each(everyFact.filter(({ fact }) => !['message_accepted', 'slot_awaited'].includes(fact)))(
    'does not include any other fact: $fact',
    (fact) => {
      expect(successOf(fact)).toBeUndefined();
    },
  );
});

describe('the sample of messages', () => {
  const keys = Array.from({ length: 2_000 }, (_, n) => ({ queue: 'orders', messageId: `message-${n}` }));
  const shareAt = (rate: number): number => keys.filter((key) => isSampled(key, rate)).length / keys.length;

  it('has about the share of messages that the rate demands', () => {
    expect(shareAt(0.1)).toBeGreaterThan(0.07);
    expect(shareAt(0.1)).toBeLessThan(0.13);
    expect(shareAt(0.5)).toBeGreaterThan(0.45);
    expect(shareAt(0.5)).toBeLessThan(0.55);
  });

  it('contains every message at 1, and none at 0', () => {
    expect(shareAt(1)).toBe(1);
    expect(shareAt(0)).toBe(0);
  });

  it('at a higher rate contains the sample at a lower rate, in every function', () => {
    const few = keys.filter((key) => isSampled(key, 0.2));
    expect(few.length).toBeGreaterThan(0);
    expect(few.every((key) => isSampled({ ...key }, 0.3))).toBe(true);
  });

  it('depends on the queue too', () => {
    const differs = keys.filter(
      (key) => isSampled(key, 0.5) !== isSampled({ ...key, queue: 'invoices' }, 0.5),
    );
    expect(differs.length).toBeGreaterThan(0);
  });
});
