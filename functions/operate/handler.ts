import { dynamoClient } from '../../shared/adapters/dynamodb/client.ts';
import { sqsClient } from '../../shared/adapters/sqs/client.ts';
import { dynamoDeliveries } from '../../shared/adapters/dynamodb/deliveries.ts';
import { dynamoDeliveryListings } from '../../shared/adapters/dynamodb/delivery-listings.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamodb/message-records.ts';
import { dynamoRecoveries } from '../../shared/adapters/dynamodb/recoveries.ts';
import { dynamoRegistry } from '../../shared/adapters/dynamodb/subscription-registry.ts';
import { dynamoSubscriptions } from '../../shared/adapters/dynamodb/subscriptions.ts';
import {
  type CallDeadline,
  invocationDeadline,
  pacingOf,
} from '../../shared/adapters/lambda/invocation-deadline.ts';
import { laterPayloads, laterRemoval } from '../../shared/adapters/lambda/on-demand.ts';
import { sqsHandler } from '../../shared/adapters/lambda/sqs-handler.ts';
import { powertoolsJournal } from '../../shared/adapters/log/journal.ts';
import { sqsDeadLetters } from '../../shared/adapters/sqs/dead-letters.ts';
import { sqsOperations, sqsWakeUps } from '../../shared/adapters/sqs/queues.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { operateEnvironment } from '../../shared/config/environment.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';
import type { Journal } from '../../shared/ports/journal.ts';
import { parseOperation } from '../../shared/wire/jobs/operation.ts';
import type { OperateContext } from './context.ts';
import { operate } from './operate.ts';
import type { Context, SQSRecord } from 'aws-lambda';

// Once per cold start

const environment = operateEnvironment();
const journal = powertoolsJournal('operate', environment);
const deadline = invocationDeadline();
const operateContext = operateContextOf(environment, journal, deadline);
const deadLetters = sqsDeadLetters(sqsClient({ deadline, journal }), environment.operationDeadLetterUrl);

// For every record: a throw means that a service of ours failed, and the message comes again. What can never be
// understood is buried with its reason instead of being tried ten times.

async function operateRecord(record: SQSRecord, context: Context): Promise<void> {
  const parsed = parseOperation(record.body);
  if (parsed.ok) {
    await operate(operateContext, parsed.value, () => context.getRemainingTimeInMillis());
    return;
  }
  await deadLetters.send({ id: record.messageId, body: record.body }, parsed.reason);
  journal.note({ fact: 'dead_lettered', id: record.messageId, reason: parsed.reason });
}

function orderIdsIn({ body }: SQSRecord): Record<string, string> {
  const parsed = parseOperation(body);
  if (!parsed.ok) return {};
  const { kind, queue } = parsed.value;
  return { operation: kind, queue };
}

// Called by Lambda, with one order of the operation queue

export const handler = deadline.timed(sqsHandler(journal, operateRecord, orderIdsIn));

type Environment = ReturnType<typeof operateEnvironment>;

/** operate on AWS: which adapter stands for which port, and the settings in the units of the pipeline. */
function operateContextOf(
  environment: Environment,
  journal: Journal,
  deadline: CallDeadline,
): OperateContext {
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
): OperateContext['ports'] {
  const invocation = { deadline, journal };
  const sqs = sqsClient(invocation);
  const dynamo = dynamoClient(invocation);
  const pacing = pacingOf(deadline);
  const { deliveriesTable, subscriptionsTable } = environment;
  return {
    clock,
    journal,
    deliveries: dynamoDeliveries(dynamo, deliveriesTable),
    deliveryListings: dynamoDeliveryListings(dynamo, deliveriesTable, pacing),
    messageRecords: dynamoMessageRecords(dynamo, deliveriesTable),
    recoveries: dynamoRecoveries(dynamo, deliveriesTable),
    subscriptions: dynamoSubscriptions(dynamo, subscriptionsTable, { clock, cacheSeconds: 0 }),
    registry: dynamoRegistry(dynamo, subscriptionsTable, { ...clock, deadline }),
    payloads: laterPayloads(invocation, environment.payloadBucket),
    operations: sqsOperations(sqs, environment.operationQueueUrl),
    wakeUps: {
      ...sqsWakeUps({ ...pacing, sqs, queueUrl: environment.retryQueueUrl }),
      ...laterRemoval(invocation, { group: environment.scheduleGroup }),
    },
  };
}
