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
import { errorLineOf } from './error-line.ts';
import { firstSuccesses } from './first-successes.ts';
import { isSampled, levelOf, lineOf, successOf, type Level } from './journal-lines.ts';
import { measuresOf, one, type Measure } from './journal-measures.ts';

export type LambdaJournal = Journal & {
  /** A fault of ours: something was thrown that the record's function did not expect. `ids` say at what. */
  fault(error: unknown, ids: Record<string, string>): void;
  /** Writes what was kept back of this invocation: first successes, and metrics. Every handler calls it once, at the end, whatever happened. */
  flush(): void;
  /** Writes whatever the level is: the audit trail is no matter of verbosity. */
  auditLogger: Logger;
};

/** What all functions are told about their log. */
export type LogSettings = {
  deployment: string;
  version: string;
  logLevel: Level;
  /** How many of the messages that get through at the first try are logged, 0 to 1. */
  logSuccessSampling: number;
};

/** `service` is the function: dispatch, deliver, reconcile, operate or api. */
export function powertoolsJournal(service: string, settings: LogSettings): LambdaJournal {
  const logger = loggerAt(settings.logLevel, service, settings);
  const tally = metricTally(service, settings.deployment);
  tally.add(one(metricNames.coldStarts));
  const successes = firstSuccesses((message, line) => {
    logger.info(message, line);
  });
  return {
    note: (fact) => {
      for (const measure of measuresOf(fact)) tally.add(measure);
      const success = successOf(fact);
      if (success !== undefined && !isSampled(success, settings.logSuccessSampling)) return;
      if (success !== undefined && fact.fact === 'attempt_made') successes.add(fact);
      else logger[levelOf(fact)](fact.fact, lineOf(fact));
    },
    fault: (error, ids) => {
      tally.add(one(metricNames.faults));
      logger.error('fault', { ...ids, error: errorLineOf(error) });
    },
    flush: () => {
      successes.flush();
      tally.flush();
    },
    auditLogger: loggerAt('info', service, settings),
  };
}

function loggerAt(level: Level, serviceName: string, { deployment, version }: LogSettings): Logger {
  return new Logger({
    serviceName,
    logLevel: LEVELS[level],
    persistentKeys: { deployment, version },
    logFormatter: new LineFormatter(),
  });
}

/** Of what Powertools says of a function what helps to read a line: the rest is the same on all of them, and paid for by the byte. */
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

const LEVELS = { debug: 'DEBUG', info: 'INFO', warn: 'WARN', error: 'ERROR' } as const;

/**
 * What an invocation measured. Counts are added up, so that a metric is one value a line however much happened; of durations
 * every value matters. Powertools begins another line where one would hold more than 100 values of a metric, which is the
 * most that CloudWatch reads ("Specification: Embedded metric format").
 */
function metricTally(service: string, deployment: string) {
  const metrics = new Metrics({ namespace: metricNamespace, serviceName: service });
  // Powertools adds the dimension `service`; every further set of dimensions is another metric to pay for.
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
