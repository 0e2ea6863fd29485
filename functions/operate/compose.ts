import type { AwsAccess } from '../../shared/adapters/aws/client-options.ts';
import { lazyOperatorEvents } from '../../shared/adapters/eventbridge/lazy-operator-events.ts';
import { dynamoDeliveries } from '../../shared/adapters/dynamodb/deliveries/deliveries.ts';
import { dynamoDeliveryListings } from '../../shared/adapters/dynamodb/deliveries/delivery-listings.ts';
import { dynamoRateLimits } from '../../shared/adapters/dynamodb/subscriptions/rate-limits.ts';
import { dynamoRecoveries } from '../../shared/adapters/dynamodb/deliveries/recoveries.ts';
import { dynamoRegistry } from '../../shared/adapters/dynamodb/subscriptions/subscription-registry.ts';
import { dynamoSubscriptions } from '../../shared/adapters/dynamodb/subscriptions/subscriptions.ts';
import { lazyScheduleRemoval } from '../../shared/adapters/scheduler/lazy-wake-ups.ts';
import { sqsDeadLetters } from '../../shared/adapters/sqs/dead-letters.ts';
import { type ConsumedQueue, receivedRecords } from '../../shared/adapters/sqs/failed-records.ts';
import { sqsOperations, sqsWakeUps } from '../../shared/adapters/sqs/queues.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { type Environment, readEnvironment, type Source } from '../../shared/config/environment.ts';
import type { InvocationContext } from '../../shared/domain/receives.ts';
import { OPERATE_TIMEOUT_SECONDS } from '../../shared/domain/recovery/operation.ts';
import { type AwsWithEvents, composeAws, withOperatorEvents } from '../compose.ts';
import { operateRecord, operationIdsIn, type OperateRecordContext } from './operate.ts';
import type { SQSRecord } from 'aws-lambda';

/**
 * Ports and settings of operate from an environment: the function's by default, a worker's otherwise.
 * @throws EnvironmentError
 */
export function composeOperate(source?: Source, access: AwsAccess = {}) {
  const environment = readEnvironment('operate', source);
  // It makes no attempts.
  const settings = { ...environment, attemptEvents: false };
  const aws = withOperatorEvents(composeAws('operate', environment, access), settings, lazyOperatorEvents);
  const { deadline, journal, sqs } = aws;
  const queues: readonly ConsumedQueue[] = [{ name: 'operation', url: environment.operationQueueUrl }];
  const context: OperateRecordContext = { ports: createPorts(environment, aws), settings: aws.settings };
  return {
    journal,
    deadline,
    queues,
    timeoutMs: OPERATE_TIMEOUT_SECONDS * 1000,
    handleRecord: (record: SQSRecord, invocation: InvocationContext) =>
      operateRecord(context, record, invocation),
    ...receivedRecords({ sqs, queues, random: Math.random }),
    deadLetters: context.ports.deadLetters,
    idsOf: operationIdsIn,
    /** @throws what AWS answers to callers that may not read the table */
    probe: () => context.ports.recoveries.find('probe', 'probe'),
  };
}

/** The adapter of each port. */
function createPorts(
  environment: Environment<'operate'>,
  { deadline, invocation, dynamo, sqs, pacing, ports }: AwsWithEvents,
): OperateRecordContext['ports'] {
  const { deliveriesTable, subscriptionsTable } = environment;
  return {
    ...ports,
    deliveries: dynamoDeliveries(dynamo, deliveriesTable),
    deliveryListings: dynamoDeliveryListings(dynamo, deliveriesTable, pacing),
    rateLimits: dynamoRateLimits(dynamo, deliveriesTable, clock),
    recoveries: dynamoRecoveries(dynamo, deliveriesTable),
    subscriptions: dynamoSubscriptions(dynamo, subscriptionsTable, { clock, cacheSeconds: 0 }),
    registry: dynamoRegistry(dynamo, subscriptionsTable, { ...clock, deadline }),
    deadLetters: sqsDeadLetters(sqs, environment.operationDeadLetterUrl),
    operations: sqsOperations(sqs, environment.operationQueueUrl),
    wakeUps: {
      ...sqsWakeUps({ ...pacing, sqs, queueUrl: environment.retryQueueUrl }),
      ...lazyScheduleRemoval(invocation, { group: environment.scheduleGroup }),
    },
  };
}
