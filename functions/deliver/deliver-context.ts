import { documentClient } from '../../shared/adapters/aws/document-client.ts';
import { kmsClient } from '../../shared/adapters/aws/key-client.ts';
import { sqsClient } from '../../shared/adapters/aws/queue-client.ts';
import { dynamoChunks } from '../../shared/adapters/dynamo-chunks.ts';
import { dynamoDeliveries } from '../../shared/adapters/dynamo-deliveries.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamo-message-records.ts';
import { dynamoRateLimits } from '../../shared/adapters/dynamo-rate-limits.ts';
import { dynamoSubscriptions } from '../../shared/adapters/dynamo-subscriptions.ts';
import { httpSubscriber } from '../../shared/adapters/http-subscriber.ts';
import type { CallDeadline } from '../../shared/adapters/invocation-deadline.ts';
import { kmsSecretOpener } from '../../shared/adapters/kms-signing-secrets.ts';
import { sqsDeadLetters } from '../../shared/adapters/sqs-dead-letters.ts';
import { sqsDeliveryQueue } from '../../shared/adapters/sqs-delivery-queue.ts';
import { sqsUndeliverables } from '../../shared/adapters/sqs-undeliverables.ts';
import { sqsWakeUps } from '../../shared/adapters/sqs-wake-ups.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { awsEnvironment, type deliverEnvironment } from '../../shared/config/environment.ts';
import type { DeliverContext } from '../../shared/pipeline/deliver-context.ts';
import { healthNotes } from '../../shared/pipeline/health-notes.ts';
import type { Journal } from '../../shared/ports/journal.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';
import { laterOperatorEvents, laterPayloads, laterSchedules } from '../later-ports.ts';
import { pacingOf } from '../pacing.ts';

type Environment = ReturnType<typeof deliverEnvironment>;

/** deliver on AWS: which adapter stands for which port, and the settings in the units of the pipeline. */
export const deliverContextOf = (
  environment: Environment,
  journal: Journal,
  deadline: CallDeadline,
): DeliverContext => ({
  ports: portsOf(environment, journal, deadline),
  healthNotes: healthNotes(clock),
  settings: {
    attemptTimeoutMs: environment.attemptTimeoutSeconds * 1000,
    schedulerThresholdSeconds: environment.schedulerThresholdSeconds,
    retentionMs: environment.retentionDays * DAY_MS,
    subscriptionCacheMs: environment.subscriptionCacheSeconds * 1000,
    disableFailingAfterMs: environment.disableFailingAfterDays * DAY_MS,
    retryAfterCapMs: environment.retryAfterCapSeconds * 1000,
    defaultRetryPolicy: environment.defaultRetryPolicy,
    userAgent: environment.userAgent,
  },
});

const portsOf = (
  environment: Environment,
  journal: Journal,
  deadline: CallDeadline,
): DeliverContext['ports'] => {
  const invocation = { deadline, journal };
  const aws = { ...awsEnvironment(), ...invocation };
  const sqs = sqsClient(aws);
  const dynamo = documentClient(aws);
  const pacing = pacingOf(deadline);
  const payloads = laterPayloads(invocation, environment.payloadBucket);
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
    secretOpener: kmsSecretOpener(kmsClient(aws), { keyArn: environment.secretsKeyArn, clock }),
    deliveryQueue: sqsDeliveryQueue({ ...pacing, sqs, queueUrl: environment.deliveryQueueUrl }),
    wakeUps: {
      ...sqsWakeUps({ ...pacing, sqs, queueUrl: environment.retryQueueUrl }),
      ...laterSchedules(invocation, {
        group: environment.scheduleGroup,
        roleArn: environment.schedulerRoleArn,
        retryQueueArn: environment.retryQueueArn,
        deadLetterArn: environment.schedulerDeadLetterArn,
      }),
    },
    undeliverables: sqsUndeliverables(sqs, payloads, {
      queueUrl: environment.undeliverableQueueUrl,
      payloadBucket: environment.payloadBucket,
    }),
    deadLetters: sqsDeadLetters(sqs, environment.deliveryDeadLetterUrl),
    operatorEvents: laterOperatorEvents(invocation, {
      busName: environment.operatorEventBus,
      deployment: environment.deployment,
    }),
  };
};
