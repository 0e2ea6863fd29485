import './jitless.ts';
import { randomBytes, randomUUID } from 'node:crypto';
import { subscriberUrlFault } from '../../shared/adapters/http/address-guard.ts';
import { dynamoClient } from '../../shared/adapters/dynamodb/client.ts';
import { kmsClient } from '../../shared/adapters/kms/client.ts';
import { sqsClient } from '../../shared/adapters/sqs/client.ts';
import { dynamoChunks, dynamoTakeOut } from '../../shared/adapters/dynamodb/chunks.ts';
import { dynamoDeliveries } from '../../shared/adapters/dynamodb/deliveries.ts';
import { dynamoDeliveryListings } from '../../shared/adapters/dynamodb/delivery-listings.ts';
import { dynamoMessageListings } from '../../shared/adapters/dynamodb/message-listings.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamodb/message-records.ts';
import { dynamoRecoveries } from '../../shared/adapters/dynamodb/recoveries.ts';
import { dynamoRegistry } from '../../shared/adapters/dynamodb/subscription-registry.ts';
import { invocationDeadline, pacingOf } from '../../shared/adapters/lambda/invocation-deadline.ts';
import { kmsSecretSealer } from '../../shared/adapters/kms/signing-secrets.ts';
import { powertoolsJournal } from '../../shared/adapters/log/journal.ts';
import {
  sqsDeliveryQueue,
  sqsIngress,
  sqsOperations,
  sqsQueueDepths,
  sqsWakeUps,
} from '../../shared/adapters/sqs/queues.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import { apiEnvironment } from '../../shared/config/environment.ts';
import { chunkedDeliveries } from './deliveries/chunked-deliveries.ts';
import { laterOperatorEvents, laterPayloads, laterRemoval } from '../../shared/adapters/lambda/on-demand.ts';
import { createApi } from './app.ts';
import { auditLog } from './audit.ts';
import { httpApiAnswer, type HttpApiAnswer, parseHttpApiEvent } from './http-api-event.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';

// Once per cold start

const environment = apiEnvironment();
const journal = powertoolsJournal('api', environment);
const deadline = invocationDeadline();
const invocation = { deadline, journal };
const dynamo = dynamoClient(invocation);
const sqs = sqsClient(invocation);
const pacing = pacingOf(deadline);

const api = createApi({
  version: environment.version,
  registry: dynamoRegistry(dynamo, environment.subscriptionsTable, pacing),
  messageRecords: dynamoMessageRecords(dynamo, environment.deliveriesTable),
  messageListings: dynamoMessageListings(dynamo, environment.deliveriesTable),
  payloads: laterPayloads(invocation, environment.payloadBucket),
  deliveries: chunkedDeliveries({
    deliveries: dynamoDeliveries(dynamo, environment.deliveriesTable),
    chunks: {
      ...dynamoChunks(dynamo, environment.deliveriesTable),
      ...dynamoTakeOut(dynamo, environment.deliveriesTable, pacing),
    },
  }),
  deliveryListings: dynamoDeliveryListings(dynamo, environment.deliveriesTable, pacing),
  ingress: sqsIngress({ ...pacing, sqs, queueUrl: environment.ingressQueueUrl }),
  secretSealer: kmsSecretSealer(kmsClient(invocation), environment.secretsKeyArn),
  wakeUps: {
    ...sqsWakeUps({ ...pacing, sqs, queueUrl: environment.retryQueueUrl }),
    ...laterRemoval(invocation, { group: environment.scheduleGroup }),
  },
  journal,
  recoveries: dynamoRecoveries(dynamo, environment.deliveriesTable),
  operations: sqsOperations(sqs, environment.operationQueueUrl),
  queueDepths: sqsQueueDepths(sqs, environment.queueUrls),
  operatorEvents: laterOperatorEvents(invocation, {
    busName: environment.operatorEventBus,
    deployment: environment.deployment,
  }),
  deliveryQueue: sqsDeliveryQueue({ ...pacing, sqs, queueUrl: environment.deliveryQueueUrl }),
  settings: {
    retentionMs: environment.retentionDays * DAY_MS,
    retryAfterCapMs: environment.retryAfterCapSeconds * 1000,
    overdueAfterMs: environment.overdueAfterSeconds * 1000,
    subscriptionConfirmation: environment.subscriptionConfirmation,
  },
  clock: systemClock,
  newId: randomUUID,
  randomBytes,
  defaultRetryPolicy: environment.defaultRetryPolicy,
  subscriberFault: (url) => subscriberUrlFault(url, environment),
  audit: auditLog(journal.auditLogger),
  reportFault: (fault, ids) => {
    journal.fault(fault, ids);
  },
});

// For every request

/** Every fault becomes an answer; only an event that is not an HTTP API's throws, which fails the invocation. */
async function answer(event: unknown): Promise<HttpApiAnswer> {
  try {
    const { request, ...from } = parseHttpApiEvent(event, environment.publicApiUrl);
    return await httpApiAnswer(await api.fetch(request, from));
  } finally {
    journal.flush();
  }
}

// Called by Lambda

export const handler = deadline.timed(answer);
