import type { AwsAccess } from '../shared/adapters/aws/client-options.ts';
import { dynamoClient, singleRequestClient } from '../shared/adapters/dynamodb/client.ts';
import { dynamoQueueStatistics } from '../shared/adapters/dynamodb/queue-statistics.ts';
import { invocationDeadline, pacingOf } from '../shared/adapters/lambda/invocation-deadline.ts';
import { lazyOperatorEvents } from '../shared/adapters/lambda/on-demand.ts';
import { type LogSettings, powertoolsJournal } from '../shared/adapters/log/journal.ts';
import { sqsClient } from '../shared/adapters/sqs/client.ts';
import { systemClock as clock } from '../shared/adapters/system-clock.ts';
import type { FunctionName } from '../shared/config/rules.ts';
import { DAY_MS } from '../shared/domain/duration.ts';
import { attemptEventsJournal } from '../shared/steps/attempt-events.ts';
import { countingJournal } from '../shared/steps/counting-journal.ts';

type Environment = LogSettings & { deliveriesTable: string; queueStatistics: boolean; retentionDays: number };

export type Aws = ReturnType<typeof composeAws>;

/** The deadline, journal and AWS clients of a function. Its journal counts the statistics of queues. */
export function composeAws(service: FunctionName, environment: Environment, access: AwsAccess = {}) {
  const deadline = invocationDeadline();
  const log = powertoolsJournal(service, environment);
  const dynamo = dynamoClient({ deadline, journal: log, ...access });
  const journal = countingJournal(log, {
    clock,
    statistics: dynamoQueueStatistics(singleRequestClient(dynamo), environment.deliveriesTable),
    settings: {
      queueStatistics: environment.queueStatistics,
      retentionMs: environment.retentionDays * DAY_MS,
    },
  });
  const invocation = { deadline, journal, ...access };
  return { deadline, journal, invocation, dynamo, sqs: sqsClient(invocation), pacing: pacingOf(deadline) };
}

type EventSettings = { operatorEventBus: string; deployment: string; attemptEvents: boolean };

export type AwsWithEvents = ReturnType<typeof withOperatorEvents>;

/** Adds operator events. The journal then also sends those of failed attempts, if the deployment wants them. */
export function withOperatorEvents(aws: Aws, settings: EventSettings) {
  const { operatorEventBus: busName, deployment, attemptEvents: enabled } = settings;
  const operatorEvents = lazyOperatorEvents(aws.invocation, { busName, deployment });
  return { ...aws, operatorEvents, journal: attemptEventsJournal(aws.journal, { operatorEvents, enabled }) };
}
