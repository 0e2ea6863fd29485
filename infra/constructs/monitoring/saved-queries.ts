import { CfnQueryDefinition } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { everyFunction, type FunctionName } from '../../../shared/config/rules.ts';
import type { Pipeline } from '../pipeline.ts';

/** A query in the language of CloudWatch Logs Insights. */
type LogQuery = {
  /** The name in the list of saved queries, after the deployment's. */
  readonly name: string;
  /** The functions whose logs it reads. */
  readonly of: readonly FunctionName[];
  readonly lines: readonly string[];
};

/** By construct id, which must not change. docs/operations.md describes each query. */
export const queries = {
  Story: {
    name: 'history of a message',
    of: everyFunction,
    lines: [
      'filter queue = "QUEUE" and messageId = "MESSAGE"',
      'parse @message /"attempts":(?<together>\\[\\[.+\\]\\])/',
      'display @timestamp, service, fact, subscriptionId, attempt, phase, outcome, statusCode, error, durationMs, latenessMs, lost, status, by, nextBy, reason, together',
      'sort @timestamp asc',
      'limit 1000',
    ],
  },
  FailingSubscriptions: {
    name: 'failing subscriptions',
    of: ['deliver'],
    lines: [
      'filter fact = "attempt_made" and outcome != "delivered"',
      'stats count(*) as attempts, count_distinct(messageId) as messages, latest(statusCode) as lastStatus, latest(error) as lastError by queue, subscriptionId',
      'sort attempts desc',
      'limit 25',
    ],
  },
  /** Attempts with separate log lines. First successes that share a log line are in the next query. */
  SlowestReceivers: {
    name: 'slowest subscribers',
    of: ['deliver'],
    lines: [
      'filter fact = "attempt_made"',
      'stats count(*) as attempts, pct(durationMs, 50) as p50, pct(durationMs, 95) as p95, max(durationMs) as slowest by queue, subscriptionId',
      'sort p95 desc',
      'limit 25',
    ],
  },
  SlowestReceiversTogether: {
    name: 'slowest subscribers, first successes',
    of: ['deliver'],
    lines: [
      'filter fact = "attempts_delivered"',
      'fields jsonParse(@message) as line',
      'unnest line.attempts into made',
      'fields made[0] as receiver, made[2] as answeredMs',
      'stats count(*) as attempts, pct(answeredMs, 50) as p50, pct(answeredMs, 95) as p95, max(answeredMs) as slowest by queue, receiver',
      'sort p95 desc',
      'limit 25',
    ],
  },
  LateRetries: {
    name: 'late retries',
    of: ['deliver'],
    lines: [
      'filter fact = "attempt_made" and attempt > 1 and latenessMs > 5000',
      'fields @timestamp, queue, messageId, subscriptionId, attempt, phase, latenessMs, lost',
      'sort latenessMs desc',
      'limit 100',
    ],
  },
  Faults: {
    name: 'internal errors',
    of: everyFunction,
    lines: [
      'filter level = "ERROR"',
      'stats count(*) as times, latest(@timestamp) as last by service, message, error.name, error.message, error.cause.name',
      'sort times desc',
      'limit 25',
    ],
  },
  ThrottledCalls: {
    name: 'throttled calls',
    of: everyFunction,
    lines: [
      'filter fact = "aws_call_failed"',
      'stats count(*) as calls by service, awsService, reason, throttled, repeated',
      'sort calls desc',
      'limit 25',
    ],
  },
  RepeatedRequests: {
    name: 'requests that may have been repeated',
    of: ['deliver'],
    lines: [
      'filter fact in ["lease_lost", "late_result"] or (fact = "attempt_made" and lost > 0)',
      'fields @timestamp, fact, queue, messageId, subscriptionId, attempt, outcome, lost',
      'sort @timestamp desc',
      'limit 100',
    ],
  },
} satisfies Record<string, LogQuery>;

/** Saved queries, in CloudWatch under Logs Insights, in a folder with the deployment's name. */
export class SavedQueries extends Construct {
  constructor(scope: Construct, id: string, pipeline: Pipeline) {
    super(scope, id);
    const { deployment } = pipeline.state.settings;
    for (const [name, query] of Object.entries(queries)) {
      new CfnQueryDefinition(this, name, {
        name: `${deployment}/${query.name}`,
        logGroupNames: listLogGroups(query, pipeline),
        queryString: formatQuery(query),
      });
    }
  }
}

export function listLogGroups({ of }: LogQuery, pipeline: Pipeline): string[] {
  return of.flatMap((name) => pipeline[name]?.logGroupName ?? []);
}

export function formatQuery({ lines }: LogQuery): string {
  return lines.join('\n| ');
}
