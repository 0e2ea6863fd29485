import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { metricDimension, metricNames, metricNamespace } from '../config/metrics.ts';
import type { Attempt } from '../domain/attempt.ts';
import type { DeliveryKey } from '../domain/delivery.ts';
import type { OperatorEvent } from '../domain/operator-event.ts';
import type { Fact, Journal } from '../ports/journal.ts';

export type LambdaJournal = Journal & {
  /** A fault of ours: something was thrown that the record's function did not expect. `ids` say at what. */
  fault(error: unknown, ids: Record<string, string>): void;
  /** Writes the metrics of this invocation. Every handler calls it once, at the end, whatever happened. */
  flush(): void;
  logger: Logger;
};

/** `service` is the function: dispatch, deliver, reconcile, operate or api. */
export const powertoolsJournal = (given: { deployment: string; service: string }): LambdaJournal => {
  const { deployment, service } = given;
  const logger = new Logger({ serviceName: service, persistentKeys: { deployment } });
  const metrics = new Metrics({ namespace: metricNamespace, serviceName: service });
  // Powertools adds the dimension `service`; every further set of dimensions is another metric to pay for.
  metrics.clearDefaultDimensions();
  metrics.setDefaultDimensions({ [metricDimension]: deployment });
  return {
    logger,
    note: (fact) => {
      logger[levelOf(fact)](fact.fact, linesOf(fact));
      for (const { name, unit, value } of measuresOf(fact)) metrics.addMetric(name, unit, value);
    },
    fault: (error, ids) => {
      metrics.addMetric(metricNames.faults, MetricUnit.Count, 1);
      logger.error('fault', { ...ids, error: error instanceof Error ? error : new Error(String(error)) });
    },
    flush: () => {
      if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    },
  };
};

const WARNINGS: ReadonlySet<Fact['fact']> = new Set([
  'filter_too_costly',
  'message_refused',
  'lease_lost',
  'late_result',
  'schedule_refused',
  'dead_lettered',
  'reconciled',
  'operation_dropped',
  'cancellation_given_up',
  'policy_adjusted',
]);

/** Something of ours threw, and the step went on without it. */
const FAULTS: ReadonlySet<Fact['fact']> = new Set([
  'health_unnoted',
  'confirmation_owed',
  'operation_failed_for',
]);

const levelOf = ({ fact }: Fact): 'info' | 'warn' | 'error' => {
  if (FAULTS.has(fact)) return 'error';
  return WARNINGS.has(fact) ? 'warn' : 'info';
};

/** A fact as the keys of a log line, its ids on top. Snippets stay out: a subscriber may answer with what it was sent. */
const linesOf = (fact: Fact): Record<string, unknown> => {
  switch (fact.fact) {
    case 'attempt_made':
    case 'late_result': {
      const { key, attempt, ...rest } = fact;
      return { ...rest, ...idsOf(key), ...attemptOf(attempt) };
    }
    case 'message_accepted':
    case 'filter_too_costly': {
      const { message, ...rest } = fact;
      return { ...rest, ...message };
    }
    case 'message_refused':
    case 'dead_lettered':
    case 'operation_continued':
    case 'operation_dropped':
    case 'cancellation_given_up':
    case 'recovery_completed':
    case 'policy_adjusted':
    case 'health_unnoted':
    case 'confirmation_owed':
      return fact;
    case 'operator_told':
      return { fact: fact.fact, ...newsOf(fact.event) };
    case 'delivery_cancelled':
    case 'retried_by_hand':
    case 'lease_lost':
    case 'wake_up_set':
    case 'schedule_refused':
    case 'wake_up_dropped':
    case 'time_given_back':
    case 'operation_failed_for':
    case 'reconciled': {
      const { key, ...rest } = fact;
      return { ...rest, ...idsOf(key) };
    }
  }
};

const newsOf = (event: OperatorEvent): Record<string, unknown> => {
  if (event.type !== 'delivery.exhausted') {
    const { type, ...rest } = event;
    return { event: type, ...rest };
  }
  const { type, key, ...rest } = event;
  return { event: type, ...idsOf(key), ...rest };
};

const idsOf = ({ queue, messageId, subscriptionId }: DeliveryKey) => ({ queue, messageId, subscriptionId });

const attemptOf = ({ number, ...attempt }: Attempt) => ({ ...attempt, attempt: number, snippet: undefined });

type Measure = { name: string; unit: (typeof MetricUnit)[keyof typeof MetricUnit]; value: number };

const one = (name: string): Measure => ({ name, unit: MetricUnit.Count, value: 1 });

/** What CloudWatch counts of a fact; ids are never dimensions (design §8). */
const measuresOf = (fact: Fact): Measure[] => {
  switch (fact.fact) {
    case 'message_accepted':
      return fact.duplicate ? [] : [one(metricNames.messagesAccepted)];
    case 'message_refused':
      return [one(metricNames.messagesRefused)];
    case 'attempt_made':
      return [one(OUTCOME_NAMES[fact.attempt.outcome]), latenessOf(fact.attempt, fact.latenessMs)];
    case 'wake_up_set':
      return [one(metricNames.wakeUpsSet)];
    case 'wake_up_dropped':
      return [one(metricNames.wakeUpsDropped)];
    case 'reconciled':
      return [one(metricNames.reconciled)];
    case 'dead_lettered':
      return [one(metricNames.deadLettered)];
    case 'operator_told':
      return [one(NEWS_NAMES[fact.event.type])];
    case 'health_unnoted':
    case 'confirmation_owed':
    case 'operation_failed_for':
      return [one(metricNames.faults)];
    case 'filter_too_costly':
    case 'delivery_cancelled':
    case 'retried_by_hand':
    case 'late_result':
    case 'lease_lost':
    case 'schedule_refused':
    case 'time_given_back':
    case 'operation_continued':
    case 'operation_dropped':
    case 'cancellation_given_up':
    case 'recovery_completed':
    case 'policy_adjusted':
      return [];
  }
};

const NEWS_NAMES = {
  'delivery.exhausted': metricNames.deliveriesExhausted,
  'subscription.failing': metricNames.subscriptionsFailing,
  'subscription.recovered': metricNames.subscriptionsRecovered,
  'subscription.disabled': metricNames.subscriptionsDisabled,
} as const;

const OUTCOME_NAMES = {
  delivered: metricNames.attemptsDelivered,
  failed: metricNames.attemptsFailed,
  rejected: metricNames.attemptsRejected,
} as const;

const latenessOf = ({ number }: Attempt, latenessMs: number): Measure => ({
  name: number === 1 ? metricNames.firstAttemptAge : metricNames.lateness,
  unit: MetricUnit.Milliseconds,
  value: latenessMs,
});
