import { dynamoClient, singleRequestClient } from '../../shared/adapters/dynamodb/client.ts';
import { kmsClient, kmsSecretOpener } from '../../shared/adapters/kms/signing-secrets.ts';
import { sqsClient } from '../../shared/adapters/sqs/client.ts';
import { dynamoChunks, dynamoDeliveries } from '../../shared/adapters/dynamodb/deliveries.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamodb/message-records.ts';
import { dynamoQueueStatistics } from '../../shared/adapters/dynamodb/queue-statistics.ts';
import { dynamoRateLimits } from '../../shared/adapters/dynamodb/rate-limits.ts';
import { dynamoSubscriptions } from '../../shared/adapters/dynamodb/subscriptions.ts';
import { httpSubscriber } from '../../shared/adapters/http/subscriber.ts';
import {
  type CallDeadline,
  invocationDeadline,
  pacingOf,
} from '../../shared/adapters/lambda/invocation-deadline.ts';
import { lazyOperatorEvents, lazyPayloads, lazySchedules } from '../../shared/adapters/lambda/on-demand.ts';
import { sqsHandler } from '../../shared/adapters/lambda/sqs-handler.ts';
import { powertoolsJournal } from '../../shared/adapters/log/journal.ts';
import { sqsDeadLetters, sqsUndeliverables } from '../../shared/adapters/sqs/dead-letters.ts';
import { earlyReturn } from '../../shared/adapters/sqs/failed-records.ts';
import { sqsDeliveryQueue, sqsWakeUps } from '../../shared/adapters/sqs/queues.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { deliverEnvironment } from '../../shared/config/environment.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';
import type { Journal } from '../../shared/ports/journal.ts';
import { countingJournal } from '../../shared/steps/counting-journal.ts';
import type { DeliverContext } from './context.ts';
import { deliverRecord, deliveryIdsIn } from './deliver.ts';
import { healthWrites } from './health.ts';
import { memoryBudget } from './memory-budget.ts';
import type { Context, SQSRecord } from 'aws-lambda';

// Once per cold start

const environment = deliverEnvironment();
const deadline = invocationDeadline();
const log = powertoolsJournal('deliver', environment);
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
const deliverContext = deliverContextOf(environment, journal, deadline);
const returnSooner = earlyReturn({
  sqs,
  queueUrls: [environment.deliveryQueueUrl, environment.retryQueueUrl],
  random: Math.random,
});

// Called by Lambda with up to ten jobs of the delivery queue or wake-ups of the retry queue

export const handler = deadline.timed(
  sqsHandler(journal, { handleRecord, returnSooner, idsOf: deliveryIdsIn }),
);

// For every record

function handleRecord(record: SQSRecord, invocation: Context): Promise<void> {
  return deliverRecord(deliverContext, record, invocation);
}

type Environment = ReturnType<typeof deliverEnvironment>;

/** The adapter of each port, and the settings converted to the units the steps use. */
function deliverContextOf(
  environment: Environment,
  journal: Journal,
  deadline: CallDeadline,
): DeliverContext {
  return {
    ports: portsOf(environment, journal, deadline),
    healthWrites: healthWrites(clock),
    memory: memoryBudget(clock),
    settings: {
      attemptTimeoutMs: environment.attemptTimeoutSeconds * 1000,
      schedulerThresholdSeconds: environment.schedulerThreshold,
      retentionMs: environment.retentionDays * DAY_MS,
      subscriptionCacheMs: environment.subscriptionCacheSeconds * 1000,
      disableFailingAfterMs: environment.disableFailingAfterDays * DAY_MS,
      retryAfterCapMs: environment.retryAfterCapSeconds * 1000,
      defaultRetryPolicy: environment.defaultRetryPolicy,
      userAgent: environment.userAgent,
    },
  };
}

function portsOf(
  environment: Environment,
  journal: Journal,
  deadline: CallDeadline,
): DeliverContext['ports'] {
  const invocation = { deadline, journal };
  const pacing = pacingOf(deadline);
  const payloads = lazyPayloads(invocation, environment.payloadBucket);
  return {
    clock,
    journal,
    payloads,
    deliveries: dynamoDeliveries(dynamo, environment.deliveriesTable),
    chunks: dynamoChunks(dynamo, environment.deliveriesTable),
    messageRecords: dynamoMessageRecords(dynamo, environment.deliveriesTable),
    subscriptions: dynamoSubscriptions(dynamo, environment.subscriptionsTable, {
      clock,
      cacheSeconds: environment.subscriptionCacheSeconds,
    }),
    rateLimits: dynamoRateLimits(dynamo, environment.deliveriesTable, clock),
    subscriber: httpSubscriber(environment),
    secretOpener: kmsSecretOpener(kmsClient(invocation), { keyArn: environment.secretsKeyArn, clock }),
    deliveryQueue: sqsDeliveryQueue({ ...pacing, sqs, queueUrl: environment.deliveryQueueUrl }),
    wakeUps: {
      ...sqsWakeUps({ ...pacing, sqs, queueUrl: environment.retryQueueUrl }),
      ...lazySchedules(invocation, {
        group: environment.scheduleGroup,
        roleArn: environment.schedulerRoleArn,
        retryQueueUrl: environment.retryQueueUrl,
        deadLetterArn: environment.schedulerDeadLetterArn,
      }),
    },
    undeliverables: sqsUndeliverables(sqs, payloads, {
      queueUrl: environment.undeliverableQueueUrl,
      payloadBucket: environment.payloadBucket,
    }),
    deadLetters: sqsDeadLetters(sqs, environment.deliveryDeadLetterUrl),
    operatorEvents: lazyOperatorEvents(invocation, {
      busName: environment.operatorEventBus,
      deployment: environment.deployment,
    }),
  };
}
