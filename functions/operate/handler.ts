import { dynamoClient, singleRequestClient } from '../../shared/adapters/dynamodb/client.ts';
import { sqsClient } from '../../shared/adapters/sqs/client.ts';
import { dynamoDeliveries } from '../../shared/adapters/dynamodb/deliveries.ts';
import { dynamoDeliveryListings } from '../../shared/adapters/dynamodb/delivery-listings.ts';
import { dynamoQueueStatistics } from '../../shared/adapters/dynamodb/queue-statistics.ts';
import { dynamoRateLimits } from '../../shared/adapters/dynamodb/rate-limits.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamodb/message-records.ts';
import { dynamoRecoveries } from '../../shared/adapters/dynamodb/recoveries.ts';
import { dynamoRegistry } from '../../shared/adapters/dynamodb/subscription-registry.ts';
import { dynamoSubscriptions } from '../../shared/adapters/dynamodb/subscriptions.ts';
import {
  type CallDeadline,
  invocationDeadline,
  pacingOf,
} from '../../shared/adapters/lambda/invocation-deadline.ts';
import { lazyPayloads, lazyScheduleRemoval } from '../../shared/adapters/lambda/on-demand.ts';
import { sqsHandler } from '../../shared/adapters/lambda/sqs-handler.ts';
import { powertoolsJournal } from '../../shared/adapters/log/journal.ts';
import { sqsDeadLetters } from '../../shared/adapters/sqs/dead-letters.ts';
import { earlyReturn } from '../../shared/adapters/sqs/failed-records.ts';
import { sqsOperations, sqsWakeUps } from '../../shared/adapters/sqs/queues.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { operateEnvironment } from '../../shared/config/environment.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';
import type { Journal } from '../../shared/ports/journal.ts';
import { countingJournal } from '../../shared/steps/counting-journal.ts';
import { operateRecord, operationIdsIn, type OperateRecordContext } from './operate.ts';
import type { Context, SQSRecord } from 'aws-lambda';

// Once per cold start

const environment = operateEnvironment();
const deadline = invocationDeadline();
const log = powertoolsJournal('operate', environment);
const dynamo = dynamoClient({ deadline, journal: log });
const journal = countingJournal(log, {
  clock,
  statistics: dynamoQueueStatistics(singleRequestClient(dynamo), environment.deliveriesTable),
  settings: {
    queueStatistics: environment.queueStatistics,
    retentionMs: environment.retentionDays * DAY_MS,
  },
});
const sqs = sqsClient({ deadline, journal });
const operateContext = operateContextOf(environment, journal, deadline);
const returnSooner = earlyReturn({
  sqs,
  queueUrls: [environment.operationQueueUrl],
  random: Math.random,
});

// Called by Lambda with one operation of the operation queue

export const handler = deadline.timed(
  sqsHandler(journal, { handleRecord, returnSooner, idsOf: operationIdsIn }),
);

// For every record

function handleRecord(record: SQSRecord, invocation: Context): Promise<void> {
  return operateRecord(operateContext, record, invocation);
}

type Environment = ReturnType<typeof operateEnvironment>;

/** The adapter of each port, and the settings converted to the units the steps use. */
function operateContextOf(
  environment: Environment,
  journal: Journal,
  deadline: CallDeadline,
): OperateRecordContext {
  return {
    ports: portsOf(environment, journal, deadline),
    settings: {
      retentionMs: environment.retentionDays * DAY_MS,
      retryAfterCapMs: environment.retryAfterCapSeconds * 1000,
    },
  };
}

function portsOf(
  environment: Environment,
  journal: Journal,
  deadline: CallDeadline,
): OperateRecordContext['ports'] {
  const invocation = { deadline, journal };
  const pacing = pacingOf(deadline);
  const { deliveriesTable, subscriptionsTable } = environment;
  return {
    clock,
    journal,
    deliveries: dynamoDeliveries(dynamo, deliveriesTable),
    deliveryListings: dynamoDeliveryListings(dynamo, deliveriesTable, pacing),
    rateLimits: dynamoRateLimits(dynamo, deliveriesTable, clock),
    messageRecords: dynamoMessageRecords(dynamo, deliveriesTable),
    recoveries: dynamoRecoveries(dynamo, deliveriesTable),
    subscriptions: dynamoSubscriptions(dynamo, subscriptionsTable, { clock, cacheSeconds: 0 }),
    registry: dynamoRegistry(dynamo, subscriptionsTable, { ...clock, deadline }),
    payloads: lazyPayloads(invocation, environment.payloadBucket),
    deadLetters: sqsDeadLetters(sqs, environment.operationDeadLetterUrl),
    operations: sqsOperations(sqs, environment.operationQueueUrl),
    wakeUps: {
      ...sqsWakeUps({ ...pacing, sqs, queueUrl: environment.retryQueueUrl }),
      ...lazyScheduleRemoval(invocation, { group: environment.scheduleGroup }),
    },
  };
}
