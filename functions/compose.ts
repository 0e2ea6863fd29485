import type { AwsAccess } from '../shared/adapters/aws/client-options.ts';
import { dynamoClient, singleRequestClient } from '../shared/adapters/dynamodb/client.ts';
import { dynamoMessageRecords } from '../shared/adapters/dynamodb/deliveries/message-records.ts';
import { dynamoQueueStatistics } from '../shared/adapters/dynamodb/deliveries/queue-statistics.ts';
import { createPacing, invocationDeadline } from '../shared/adapters/lambda/invocation-deadline.ts';
import type { lazyOperatorEvents } from '../shared/adapters/eventbridge/lazy-operator-events.ts';
import { lazyPayloads } from '../shared/adapters/s3/lazy-payloads.ts';
import { type LogSettings, powertoolsJournal } from '../shared/adapters/log/journal.ts';
import { sqsClient } from '../shared/adapters/sqs/client.ts';
import { systemClock as clock } from '../shared/adapters/system-clock.ts';
import type { FunctionName } from '../shared/config/rules.ts';
import { DAY_MS } from '../shared/domain/duration.ts';
import { attemptEventsJournal } from '../shared/steps/attempt-events.ts';
import { countingJournal } from '../shared/steps/counting-journal.ts';

type Environment = LogSettings & {
  deliveriesTable: string;
  payloadBucket: string;
  queueStatistics: boolean;
  retentionDays: number;
  retryAfterCapSeconds: number;
};

export type Aws = ReturnType<typeof composeAws>;

/**
 * The deadline, journal and AWS clients of a function, and the ports and settings that each of them has. Its journal
 * counts the statistics of queues.
 */
export function composeAws(service: FunctionName, environment: Environment, access: AwsAccess = {}) {
  const deadline = invocationDeadline();
  const log = powertoolsJournal(service, environment);
  const dynamo = dynamoClient({ deadline, journal: log, ...access });
  const { deliveriesTable, queueStatistics } = environment;
  const settings = {
    retentionMs: environment.retentionDays * DAY_MS,
    retryAfterCapMs: environment.retryAfterCapSeconds * 1000,
  };
  const journal = countingJournal(log, {
    clock,
    statistics: dynamoQueueStatistics(singleRequestClient(dynamo), deliveriesTable),
    settings: { queueStatistics, ...settings },
  });
  const invocation = { deadline, journal, ...access };
  const ports = {
    clock,
    journal,
    messageRecords: dynamoMessageRecords(dynamo, deliveriesTable),
    payloads: lazyPayloads(invocation, environment.payloadBucket),
  };
  const sqs = sqsClient(invocation);
  return { deadline, journal, invocation, dynamo, sqs, pacing: createPacing(deadline), ports, settings };
}

type EventSettings = { operatorEventBus: string; deployment: string; attemptEvents: boolean };

export type AwsWithEvents = ReturnType<typeof withOperatorEvents>;

/**
 * Adds operator events. The journal then also sends those of failed attempts, if the deployment wants them. `eventsOf`: not
 * imported here, because functions without such events would have EventBridge in their bundles.
 */
export function withOperatorEvents(aws: Aws, settings: EventSettings, eventsOf: typeof lazyOperatorEvents) {
  const { operatorEventBus: busName, deployment, attemptEvents: enabled } = settings;
  const operatorEvents = eventsOf(aws.invocation, { busName, deployment });
  const journal = attemptEventsJournal(aws.journal, { operatorEvents, enabled });
  return { ...aws, journal, ports: { ...aws.ports, journal, operatorEvents } };
}
