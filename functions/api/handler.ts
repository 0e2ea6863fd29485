import { randomUUID } from 'node:crypto';
import { subscriberUrlFault } from '../../shared/adapters/address-guard.ts';
import { documentClient, sqsClient } from '../../shared/adapters/aws-clients.ts';
import { dynamoDeliveries } from '../../shared/adapters/dynamo-deliveries.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamo-message-records.ts';
import { dynamoSubscriptionRegistry } from '../../shared/adapters/dynamo-subscription-registry.ts';
import { powertoolsJournal } from '../../shared/adapters/powertools-journal.ts';
import { sqsIngress } from '../../shared/adapters/sqs-ingress.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import { apiEnvironment } from '../../shared/config/environment.ts';
import { createApi } from './app.ts';
import { auditLog } from './audit.ts';
import { httpApiAnswer, parseHttpApiEvent } from './http-api-event.ts';
import type { HttpApiAnswer } from './http-api-event.ts';

// Once per cold start

const environment = apiEnvironment();
const journal = powertoolsJournal({ deployment: environment.deployment, service: 'api' });
const dynamo = documentClient();

const api = createApi({
  registry: dynamoSubscriptionRegistry(dynamo, environment.subscriptionsTable, systemClock),
  records: dynamoMessageRecords(dynamo, environment.deliveriesTable),
  deliveries: dynamoDeliveries(dynamo, environment.deliveriesTable),
  ingress: sqsIngress({
    sqs: sqsClient(),
    queueUrl: environment.ingressQueueUrl,
    sleep: (milliseconds) => systemClock.sleep(milliseconds),
    random: Math.random,
  }),
  clock: systemClock,
  newId: randomUUID,
  defaultRetryPolicy: environment.defaultRetryPolicy,
  subscriberFault: (url) => subscriberUrlFault(url, environment.allowedAddresses),
  audit: auditLog(journal.logger),
  reportFault: (fault, caller) => {
    journal.fault(fault, caller);
  },
});

// For every request

/** Every fault becomes an answer; only an event that is not an HTTP API's throws, which fails the invocation. */
const answer = async (event: unknown): Promise<HttpApiAnswer> => {
  const { request, caller } = parseHttpApiEvent(event);
  return httpApiAnswer(await api.fetch(request, { caller }));
};

// Called by Lambda

export const handler = (event: unknown): Promise<HttpApiAnswer> => answer(event);
