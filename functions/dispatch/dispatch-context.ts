import { documentClient } from '../../shared/adapters/aws/document-client.ts';
import { sqsClient } from '../../shared/adapters/aws/queue-client.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamo-message-records.ts';
import { dynamoSubscriptions } from '../../shared/adapters/dynamo-subscriptions.ts';
import type { CallDeadline } from '../../shared/adapters/invocation-deadline.ts';
import { sqsDeadLetters } from '../../shared/adapters/sqs-dead-letters.ts';
import { sqsDeliveryQueue } from '../../shared/adapters/sqs-delivery-queue.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { awsEnvironment, type dispatchEnvironment } from '../../shared/config/environment.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';
import type { DispatchContext } from '../../shared/pipeline/dispatch.ts';
import type { ReferencedDataContext } from '../../shared/pipeline/referenced-data.ts';
import type { Journal } from '../../shared/ports/journal.ts';
import { laterPayloads, laterReferencedData } from '../later-ports.ts';
import { pacingOf } from '../pacing.ts';

/** dispatch on AWS: which adapter stands for which port, and the settings in the units of the pipeline. */
export const dispatchContextOf = (
  environment: ReturnType<typeof dispatchEnvironment>,
  journal: Journal,
  deadline: CallDeadline,
): DispatchContext & ReferencedDataContext => {
  const invocation = { deadline, journal };
  const aws = { ...awsEnvironment(), ...invocation };
  const sqs = sqsClient(aws);
  const dynamo = documentClient(aws);
  return {
    ports: {
      clock,
      journal,
      subscriptions: dynamoSubscriptions(dynamo, environment.subscriptionsTable, {
        clock,
        cacheSeconds: environment.subscriptionCacheSeconds,
      }),
      messageRecords: dynamoMessageRecords(dynamo, environment.deliveriesTable),
      payloads: laterPayloads(invocation, environment.payloadBucket),
      referencedData: laterReferencedData(invocation),
      deliveryQueue: sqsDeliveryQueue({ ...pacingOf(deadline), sqs, queueUrl: environment.deliveryQueueUrl }),
      deadLetters: sqsDeadLetters(sqs, environment.ingressDeadLetterUrl),
    },
    settings: {
      retentionMs: environment.retentionDays * DAY_MS,
      retryAfterCapMs: environment.retryAfterCapSeconds * 1000,
      retainMessages: environment.retainMessages,
      firstAttemptsPerJob: environment.firstAttemptsPerJob,
      payloadSources: environment.payloadSources,
    },
  };
};
