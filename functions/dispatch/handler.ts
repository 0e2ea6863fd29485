import { dynamoClient, singleRequestClient } from '../../shared/adapters/dynamodb/client.ts';
import { sqsClient } from '../../shared/adapters/sqs/client.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamodb/message-records.ts';
import { dynamoQueueStatistics } from '../../shared/adapters/dynamodb/queue-statistics.ts';
import { dynamoSubscriptions } from '../../shared/adapters/dynamodb/subscriptions.ts';
import {
  type CallDeadline,
  invocationDeadline,
  pacingOf,
} from '../../shared/adapters/lambda/invocation-deadline.ts';
import { lazyPayloads, lazyReferencedData } from '../../shared/adapters/lambda/on-demand.ts';
import { sqsHandler } from '../../shared/adapters/lambda/sqs-handler.ts';
import { powertoolsJournal } from '../../shared/adapters/log/journal.ts';
import { sqsDeadLetters } from '../../shared/adapters/sqs/dead-letters.ts';
import { earlyReturn } from '../../shared/adapters/sqs/failed-records.ts';
import { sqsDeliveryQueue } from '../../shared/adapters/sqs/queues.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { dispatchEnvironment } from '../../shared/config/environment.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';
import type { Journal } from '../../shared/ports/journal.ts';
import { countingJournal } from '../../shared/steps/counting-journal.ts';
import { dispatchRecord, messageIdsIn, type IngressContext } from './ingress-record.ts';
import type { SQSRecord } from 'aws-lambda';

// Once per cold start

const environment = dispatchEnvironment();
const deadline = invocationDeadline();
const log = powertoolsJournal('dispatch', environment);
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
const dispatchContext = dispatchContextOf(environment, journal, deadline);
const returnSooner = earlyReturn({
  sqs,
  queueUrls: [environment.ingressQueueUrl],
  random: Math.random,
});

// Called by Lambda with up to ten messages of the ingress queue

export const handler = deadline.timed(sqsHandler(journal, { handleRecord, returnSooner, idsOf: idsIn }));

// For every record

function handleRecord(record: SQSRecord): Promise<void> {
  return dispatchRecord(dispatchContext, record);
}

function idsIn(record: SQSRecord): Record<string, string> {
  return messageIdsIn(record, environment.ingressRoutes);
}

/**
 * Time needed to start another page, in milliseconds: half of an invocation. A page takes under a second unless AWS
 * calls are retried.
 */
const PAGE_MS = 15_000;

/** The adapter of each port, and the settings converted to the units the steps use. */
function dispatchContextOf(
  environment: ReturnType<typeof dispatchEnvironment>,
  journal: Journal,
  deadline: CallDeadline,
): IngressContext {
  const invocation = { deadline, journal };
  return {
    hasTime: () => deadline.remainingMs() >= PAGE_MS,
    ports: {
      clock,
      journal,
      subscriptions: dynamoSubscriptions(dynamo, environment.subscriptionsTable, {
        clock,
        cacheSeconds: environment.subscriptionCacheSeconds,
      }),
      messageRecords: dynamoMessageRecords(dynamo, environment.deliveriesTable),
      payloads: lazyPayloads(invocation, environment.payloadBucket),
      referencedData: lazyReferencedData(invocation),
      deliveryQueue: sqsDeliveryQueue({ ...pacingOf(deadline), sqs, queueUrl: environment.deliveryQueueUrl }),
      deadLetters: sqsDeadLetters(sqs, environment.ingressDeadLetterUrl),
    },
    settings: {
      retentionMs: environment.retentionDays * DAY_MS,
      retryAfterCapMs: environment.retryAfterCapSeconds * 1000,
      retainMessages: environment.retainMessages,
      firstAttemptsPerJob: environment.firstAttemptsPerJob,
      payloadSources: environment.payloadSources,
      ingressRoutes: environment.ingressRoutes,
    },
  };
}
