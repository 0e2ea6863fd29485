import { documentClient } from '../../shared/adapters/aws/document-client.ts';
import { sqsClient } from '../../shared/adapters/aws/queue-client.ts';
import { dynamoDeliveries } from '../../shared/adapters/dynamo-deliveries.ts';
import { dynamoDeliveryListings } from '../../shared/adapters/dynamo-delivery-listings.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamo-message-records.ts';
import { dynamoRecoveries } from '../../shared/adapters/dynamo-recoveries.ts';
import { dynamoSubscriptionRegistry } from '../../shared/adapters/dynamo-subscription-registry.ts';
import { dynamoSubscriptions } from '../../shared/adapters/dynamo-subscriptions.ts';
import type { CallDeadline } from '../../shared/adapters/invocation-deadline.ts';
import { sqsOperations } from '../../shared/adapters/sqs-operations.ts';
import { sqsWakeUps } from '../../shared/adapters/sqs-wake-ups.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { awsEnvironment, type operateEnvironment } from '../../shared/config/environment.ts';
import type { OperateContext } from '../../shared/pipeline/operate-context.ts';
import type { Journal } from '../../shared/ports/journal.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';
import { laterPayloads, laterRemoval } from '../later-ports.ts';
import { pacingOf } from '../pacing.ts';

type Environment = ReturnType<typeof operateEnvironment>;

/** operate on AWS: which adapter stands for which port, and the settings in the units of the pipeline. */
export const operateContextOf = (
  environment: Environment,
  journal: Journal,
  deadline: CallDeadline,
): OperateContext => ({
  ports: portsOf(environment, journal, deadline),
  settings: {
    retentionMs: environment.retentionDays * DAY_MS,
    retryAfterCapMs: environment.retryAfterCapSeconds * 1000,
  },
});

const portsOf = (
  environment: Environment,
  journal: Journal,
  deadline: CallDeadline,
): OperateContext['ports'] => {
  const invocation = { deadline, journal };
  const aws = { ...awsEnvironment(), ...invocation };
  const sqs = sqsClient(aws);
  const dynamo = documentClient(aws);
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
    registry: dynamoSubscriptionRegistry(dynamo, subscriptionsTable, { ...clock, deadline }),
    payloads: laterPayloads(invocation, environment.payloadBucket),
    operations: sqsOperations(sqs, environment.operationQueueUrl),
    wakeUps: {
      ...sqsWakeUps({ ...pacing, sqs, queueUrl: environment.retryQueueUrl }),
      ...laterRemoval(invocation, { group: environment.scheduleGroup }),
    },
  };
};
