import type { OperatorEvent } from '../../shared/domain/delivery/operator-event.ts';
import type { Fact } from '../../shared/ports/journal.ts';
import { anAttempt, SOME_TIME } from './delivery-builders.ts';

export const factKey = { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1', bucket: 3 };

const message = { queue: factKey.queue, messageId: factKey.messageId };

const ofSubscription = { queue: factKey.queue, subscriptionId: factKey.subscriptionId };

export type FactNamed<Name extends Fact['fact']> = Extract<Fact, { fact: Name }>;

/** One sample of each fact. A new fact fails to compile until it is added here. */
const samples: { [Name in Fact['fact']]: FactNamed<Name> } = {
  message_accepted: { fact: 'message_accepted', message, matched: 2, filtered: 3, duplicate: false },
  page_sent: { fact: 'page_sent', message, matched: 5, filtered: 0 },
  message_unfinished: { fact: 'message_unfinished', message },
  message_refused: { fact: 'message_refused', id: 'sqs-1', reason: 'unknown_queue', message },
  filter_too_costly: { fact: 'filter_too_costly', message, subscriptions: 1, subscriptionIds: ['s-1'] },
  attempt_made: {
    fact: 'attempt_made',
    key: factKey,
    attempt: anAttempt(),
    status: 'retrying',
    acceptedAt: SOME_TIME - 1000,
    dueAt: SOME_TIME - 40,
    latenessMs: 40,
  },
  delivery_cancelled: { fact: 'delivery_cancelled', key: factKey, reason: 'disabled' },
  retried_manually: { fact: 'retried_manually', key: factKey, attempt: 3, round: 2 },
  late_result: {
    fact: 'late_result',
    key: factKey,
    attempt: anAttempt(),
    decisive: false,
    acceptedAt: SOME_TIME - 1000,
  },
  slot_awaited: {
    fact: 'slot_awaited',
    key: factKey,
    attempt: 1,
    slotAt: SOME_TIME,
    reason: 'rate_limited',
  },
  moved_up: { fact: 'moved_up', key: factKey, attempt: 1, slotAt: SOME_TIME },
  lease_lost: { fact: 'lease_lost', key: factKey, attempt: 1 },
  wake_up_set: { fact: 'wake_up_set', key: factKey, attempt: 2, by: 'scheduler', dueAt: SOME_TIME },
  wake_up_dropped: { fact: 'wake_up_dropped', key: factKey, attempt: 2, reason: 'stale' },
  schedule_refused: { fact: 'schedule_refused', key: factKey, attempt: 2 },
  dead_lettered: { fact: 'dead_lettered', id: 'sqs-1', reason: 'body_missing', key: factKey },
  sent_again: { fact: 'sent_again', key: factKey, attempt: 1 },
  reconciled: { fact: 'reconciled', key: factKey, overdueMs: 7 },
  reconcile_ran: { fact: 'reconcile_ran', overdue: 4, stuck: 1 },
  operation_continued: {
    fact: 'operation_continued',
    operation: 'recovery',
    queue: 'orders',
    delaySeconds: 5,
  },
  operation_dropped: { fact: 'operation_dropped', operation: 'recovery', queue: 'orders' },
  operation_failed_for: {
    fact: 'operation_failed_for',
    operation: 'recovery',
    key: factKey,
    error: new TypeError('unreadable'),
  },
  cancellation_given_up: { fact: 'cancellation_given_up', ...ofSubscription, failed: 1 },
  recovery_completed: {
    fact: 'recovery_completed',
    queue: 'orders',
    recoveryId: 'r-1',
    found: 5,
    reopened: 4,
  },
  policy_adjusted: { fact: 'policy_adjusted', queue: 'orders', warning: 'maximum_delay' },
  operator_event_sent: {
    fact: 'operator_event_sent',
    event: { type: 'subscription.failing', ...ofSubscription, since: 1, failures: 20 },
  },
  slot_not_reserved: { fact: 'slot_not_reserved', key: factKey, error: new TypeError('throttled') },
  health_not_recorded: { fact: 'health_not_recorded', ...ofSubscription, error: new TypeError('throttled') },
  statistics_not_written: { fact: 'statistics_not_written', minutes: 2, error: new TypeError('throttled') },
  attempt_events_lost: { fact: 'attempt_events_lost', events: 2, error: new TypeError('throttled') },
  confirmation_not_sent: { fact: 'confirmation_not_sent', ...ofSubscription, error: new TypeError('away') },
  polled: { fact: 'polled', sqsQueue: 'delivery', trace: 'empty: slept 4 s, next 8 s', interval: 8 },
  aws_call_failed: {
    fact: 'aws_call_failed',
    awsService: 'sqs',
    reason: 'ThrottlingException',
    throttled: true,
    repeated: true,
  },
};

export const everyFact: readonly Fact[] = Object.values(samples);

/** A fact of this name, with overrides. */
export const aFact = <Name extends Fact['fact']>(
  name: Name,
  overrides: Partial<FactNamed<Name>> = {},
): { [N in Fact['fact']]: FactNamed<N> }[Name] => ({ ...samples[name], ...overrides });

export const everyOperatorEvent: readonly OperatorEvent[] = [
  { type: 'delivery.exhausted', key: factKey, attempts: 20, at: 5 },
  { type: 'deliveries.expiring', ...ofSubscription, since: 1, cancelledFrom: 5 },
  { type: 'attempt.failed', key: factKey, attempt: 2, outcome: 'failed', statusCode: 503, at: 5, nextAt: 9 },
  { type: 'subscription.failing', ...ofSubscription, since: 1, failures: 20 },
  { type: 'subscription.recovered', ...ofSubscription, since: 1, at: 5 },
  { type: 'subscription.disabled', ...ofSubscription, reason: 'gone', at: 5 },
  { type: 'subscription.certificate_expiring', ...ofSubscription, expiresAt: 5, days: 7 },
  { type: 'subscription.slowed', ...ofSubscription, reason: 'receiver_throttled', since: 1, until: 5 },
  { type: 'subscription.slowed', ...ofSubscription, reason: 'circuit_open', since: 1, until: 5 },
  { type: 'subscription.resumed', ...ofSubscription, reason: 'circuit_open', since: 1, at: 5 },
];
