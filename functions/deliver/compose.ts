import type { AwsAccess } from '../../shared/adapters/aws/client-options.ts';
import { kmsClient, kmsSecretOpener } from '../../shared/adapters/kms/signing-secrets.ts';
import { dynamoChunks } from '../../shared/adapters/dynamodb/deliveries/chunks.ts';
import { dynamoCountingWindows } from '../../shared/adapters/dynamodb/counting-windows.ts';
import { dynamoDeliveries } from '../../shared/adapters/dynamodb/deliveries/deliveries.ts';
import { dynamoRateLimits } from '../../shared/adapters/dynamodb/subscriptions/rate-limits.ts';
import { dynamoSubscriptions } from '../../shared/adapters/dynamodb/subscriptions/subscriptions.ts';
import { lazyOperatorEvents } from '../../shared/adapters/eventbridge/lazy-operator-events.ts';
import { httpSubscriber } from '../../shared/adapters/http/subscriber.ts';
import { lazySchedules } from '../../shared/adapters/scheduler/lazy-wake-ups.ts';
import { lazyAccessTokens } from '../../shared/adapters/oauth/lazy-access-tokens.ts';
import { sqsDeadLetters, sqsUndeliverables } from '../../shared/adapters/sqs/dead-letters.ts';
import { type ConsumedQueue, receivedRecords } from '../../shared/adapters/sqs/failed-records.ts';
import { sqsDeliveryQueue, sqsOperations, sqsWakeUps } from '../../shared/adapters/sqs/queues.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { type Environment, readEnvironment, type Source } from '../../shared/config/environment.ts';
import { invocationMs } from '../../shared/domain/retry/attempt-duration.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';
import { render } from '../../shared/domain/message/payload.ts';
import { switchesOfDeployment } from '../../shared/domain/subscription/switches.ts';
import type { InvocationContext } from '../../shared/domain/receives.ts';
import { type AwsWithEvents, composeAws, withOperatorEvents } from '../compose.ts';
import type { DeliverContext } from './context.ts';
import { deliverRecord, deliveryIdsIn } from './deliver.ts';
import { healthWrites } from './health.ts';
import { largeMessageMegabytes, memoryBudget } from './memory-budget.ts';
import { pendingCounts } from './pressure.ts';
import type { SQSRecord } from 'aws-lambda';

/**
 * Ports and settings of deliver from an environment: the function's by default, a worker's otherwise.
 * @throws EnvironmentError
 */
export function composeDeliver(source?: Source, access: AwsAccess = {}) {
  const environment = readEnvironment('deliver', source);
  const aws = withOperatorEvents(composeAws('deliver', environment, access), environment, lazyOperatorEvents);
  const { deadline, journal, sqs } = aws;
  const queues: readonly ConsumedQueue[] = [
    { name: 'delivery', url: environment.deliveryQueueUrl },
    { name: 'retry', url: environment.retryQueueUrl },
  ];
  const context = createDeliverContext(environment, aws);
  return {
    journal,
    deadline,
    queues,
    timeoutMs: invocationMs(context.settings.attemptTimeoutMs),
    handleRecord: (record: SQSRecord, invocation: InvocationContext) =>
      deliverRecord(context, record, invocation),
    ...receivedRecords({ sqs, queues, random: Math.random }),
    deadLetters: context.ports.deadLetters,
    idsOf: deliveryIdsIn,
    /** @throws what AWS answers to callers that may not read the table */
    probe: () => context.ports.deliveries.find(NO_DELIVERY),
  };
}

const NO_DELIVERY = { queue: 'probe', messageId: 'probe', subscriptionId: 'probe', bucket: 0 };

/** The adapter of each port, and the settings converted to the units the steps use. */
function createDeliverContext(environment: Environment<'deliver'>, aws: AwsWithEvents): DeliverContext {
  return {
    ports: createPorts(environment, aws),
    healthWrites: healthWrites(clock),
    pendingCounts: pendingCounts(),
    memory: memoryBudget(clock, largeMessageMegabytes(environment.memoryMegabytes)),
    settings: {
      attemptTimeoutMs: environment.attemptTimeoutSeconds * 1000,
      schedulerThresholdSeconds: environment.schedulerThreshold,
      ...aws.settings,
      subscriptionCacheMs: environment.subscriptionCacheSeconds * 1000,
      disableFailingAfterMs: environment.disableFailingAfterDays * DAY_MS,
      defaultRetryPolicy: environment.defaultRetryPolicy,
      userAgent: environment.userAgent,
      leavesArchives: environment.archiveDays > 0,
      ...switchesOfDeployment(environment),
      retryThrottled: environment.retryThrottled,
    },
  };
}

function createPorts(
  environment: Environment<'deliver'>,
  { invocation, dynamo, sqs, pacing, ports }: AwsWithEvents,
): DeliverContext['ports'] {
  const subscriber = httpSubscriber(environment);
  return {
    ...ports,
    deliveries: dynamoDeliveries(dynamo, environment.deliveriesTable),
    chunks: dynamoChunks(dynamo, environment.deliveriesTable),
    subscriptions: dynamoSubscriptions(dynamo, environment.subscriptionsTable, {
      clock,
      cacheSeconds: environment.subscriptionCacheSeconds,
    }),
    rateLimits: dynamoRateLimits(dynamo, environment.deliveriesTable, clock),
    countingWindows: dynamoCountingWindows(dynamo, environment.deliveriesTable),
    render,
    subscriber,
    accessTokens: lazyAccessTokens({ fetch: subscriber.fetch, clock, userAgent: environment.userAgent }),
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
    undeliverables: sqsUndeliverables(sqs, ports.payloads, {
      queueUrl: environment.undeliverableQueueUrl,
      payloadBucket: environment.payloadBucket,
    }),
    deadLetters: sqsDeadLetters(sqs, environment.deliveryDeadLetterUrl),
    operations: sqsOperations(sqs, environment.operationQueueUrl),
  };
}
