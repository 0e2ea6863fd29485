import { LogFormatter, Logger, LogItem } from '@aws-lambda-powertools/logger';
import type { LogAttributes, UnformattedAttributes } from '@aws-lambda-powertools/logger/types';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import {
  metricDimension,
  metricNames,
  metricNamespace,
  metricsInMilliseconds,
  type MetricName,
} from '../../config/metrics.ts';
import type { Journal } from '../../ports/journal.ts';
import { toErrorLine } from './error-line.ts';
import { firstSuccesses } from './first-successes.ts';
import { isSampled, toLine, findSuccess } from './journal-lines.ts';
import { chooseLevel, type Level, toMeasures, one, type Measure } from './journal-measures.ts';

export type LambdaJournal = Journal & {
  /** Logs an unexpected exception. `ids` name the delivery or message it happened at. */
  fault(error: unknown, ids: Record<string, string>): void;
  /**
   * Writes the first successes and metrics held back during this invocation. Every handler calls it once at the
   * end, also after an error.
   */
  flush(): void;
  /** Logs at any log level, because the audit trail must not depend on verbosity. */
  auditLogger: Logger;
};

/** Log settings of a function. */
export type LogSettings = {
  deployment: string;
  version: string;
  logLevel: Level;
  /** Share of first-try successes that are logged, 0 to 1. */
  logSuccessSampling: number;
};

/**
 * A journal that writes to CloudWatch Logs and metrics. `service` is the function: dispatch, deliver, reconcile,
 * operate or api.
 */
export function powertoolsJournal(service: string, settings: LogSettings): LambdaJournal {
  const logger = createLogger(service, settings);
  const isLogged = (level: Level): boolean => LEVELS.indexOf(level) >= LEVELS.indexOf(settings.logLevel);
  const tally = metricTally(service, settings.deployment);
  tally.add(one(metricNames.coldStarts));
  const successes = firstSuccesses((message, line) => {
    logger.info(message, line);
  });
  return {
    note: (fact) => {
      for (const measure of toMeasures(fact)) tally.add(measure);
      const success = findSuccess(fact);
      if (success !== undefined && !isSampled(success, settings.logSuccessSampling)) return;
      const level = chooseLevel(fact);
      if (!isLogged(level)) return;
      if (success !== undefined && fact.fact === 'attempt_made') successes.add(fact);
      else logger[level](fact.fact, toLine(fact));
    },
    fault: (error, ids) => {
      tally.add(one(metricNames.faults));
      logger.error('fault', { ...ids, error: toErrorLine(error) });
    },
    flush: () => {
      successes.flush();
      tally.flush();
    },
    auditLogger: logger,
  };
}

/** From the least important. */
const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error'];

/**
 * Writes every line. Powertools would take the level from `AWS_LAMBDA_LOG_LEVEL` in place of the setting, and Lambda
 * sets that (infra/constructs/functions/node-function.ts).
 */
function createLogger(serviceName: string, { deployment, version }: LogSettings): Logger {
  return new Logger({
    serviceName,
    logLevel: 'TRACE',
    persistentKeys: { deployment, version },
    logFormatter: new LineFormatter(),
    jsonReplacerFn: (_, value) => (typeof value === 'string' ? value.replace(UNPRINTABLE, '\uFFFD') : value),
  });
}

/** Characters that break a line, control a terminal or hide text, apart from those that JSON escapes. */
const UNPRINTABLE = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Keeps only those Powertools attributes that help to read a line. The others are the same on every line, and
 * CloudWatch charges by the byte.
 */
class LineFormatter extends LogFormatter {
  override formatAttributes(given: UnformattedAttributes, more: LogAttributes): LogItem {
    const { logLevel, message, timestamp, serviceName, xRayTraceId } = given;
    const attributes = {
      level: logLevel,
      message,
      timestamp: this.formatTimestamp(timestamp),
      service: serviceName,
      xray_trace_id: xRayTraceId,
    };
    return new LogItem({ attributes }).addAttributes(more);
  }
}

/**
 * The metrics of an invocation. Counts are summed to one value a metric; of durations every value is kept.
 * Powertools starts another line after 100 values of a metric, the most that CloudWatch reads ("Specification:
 * Embedded metric format").
 */
function metricTally(service: string, deployment: string) {
  const metrics = new Metrics({ namespace: metricNamespace, serviceName: service });
  // Powertools adds the dimension `service`. Every set of dimensions is billed as a separate metric.
  metrics.clearDefaultDimensions();
  metrics.setDefaultDimensions({ [metricDimension]: deployment });
  const counts = new Map<MetricName, number>();
  return {
    add: ({ name, value }: Measure): void => {
      if (metricsInMilliseconds.has(name)) metrics.addMetric(name, MetricUnit.Milliseconds, value);
      else counts.set(name, (counts.get(name) ?? 0) + value);
    },
    flush: (): void => {
      for (const [name, value] of counts) metrics.addMetric(name, MetricUnit.Count, value);
      counts.clear();
      if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    },
  };
}
