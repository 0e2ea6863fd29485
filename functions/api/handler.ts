import './jitless.ts';
import { randomUUID } from 'node:crypto';
import { dynamoDeliveryListings } from '../../shared/adapters/dynamodb/delivery-listings.ts';
import { dynamoMessageListings } from '../../shared/adapters/dynamodb/message-listings.ts';
import { dynamoQueueStatistics } from '../../shared/adapters/dynamodb/queue-statistics.ts';
import { dynamoRateLimits } from '../../shared/adapters/dynamodb/rate-limits.ts';
import { dynamoRecoveries } from '../../shared/adapters/dynamodb/recoveries.ts';
import { subscriberFault } from '../../shared/adapters/http/address-guard.ts';
import { tokenUrlFault } from '../../shared/adapters/http/guarded-fetch.ts';
import { kmsClient, kmsSecretSealer } from '../../shared/adapters/kms/signing-secrets.ts';
import { lazyScheduleRemoval } from '../../shared/adapters/lambda/on-demand.ts';
import * as queues from '../../shared/adapters/sqs/queues.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import { readEnvironment } from '../../shared/config/environment.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';
import { switchesOfDeployment } from '../../shared/domain/subscription/switches.ts';
import { composeAws, withOperatorEvents } from '../compose.ts';
import { createApi } from './app.ts';
import { commonPorts } from './compose.ts';
import type { ApiPorts, ApiSettings } from './dependencies.ts';
import { answerHttpApi } from './http-api-event.ts';

// Once per cold start

const environment = readEnvironment('api');
const aws = withOperatorEvents(composeAws('api', environment), environment);
const { deadline, journal } = aws;
const api = createApi({ ...apiPorts(), settings: apiSettings() });

// Called by Lambda for each request to the HTTP API

export const handler = deadline.timed(async (event: unknown) => {
  try {
    return await answerHttpApi(api, event, environment.publicApiUrl);
  } finally {
    await journal.flush();
  }
});

function apiPorts(): ApiPorts {
  const { deliveriesTable } = environment;
  const { invocation, dynamo, sqs, pacing, operatorEvents } = aws;
  return {
    ...commonPorts(aws, environment),
    newId: randomUUID,
    messageListings: dynamoMessageListings(dynamo, deliveriesTable),
    statistics: dynamoQueueStatistics(dynamo, deliveriesTable),
    deliveryListings: dynamoDeliveryListings(dynamo, deliveriesTable, pacing),
    rateLimits: dynamoRateLimits(dynamo, deliveriesTable, systemClock),
    recoveries: dynamoRecoveries(dynamo, deliveriesTable),
    secretSealer: kmsSecretSealer(kmsClient(invocation), environment.secretsKeyArn),
    ingress: queues.sqsIngress({ ...pacing, sqs, queueUrl: environment.ingressQueueUrl }),
    deliveryQueue: queues.sqsDeliveryQueue({ ...pacing, sqs, queueUrl: environment.deliveryQueueUrl }),
    operations: queues.sqsOperations(sqs, environment.operationQueueUrl),
    queueDepths: queues.sqsQueueDepths(sqs, environment.queueUrls),
    wakeUps: {
      ...queues.sqsWakeUps({ ...pacing, sqs, queueUrl: environment.retryQueueUrl }),
      ...lazyScheduleRemoval(invocation, { group: environment.scheduleGroup }),
    },
    operatorEvents,
    subscriberFault: (subscriber) => subscriberFault(subscriber, environment),
    tokenUrlFault: (url) => tokenUrlFault(url, environment),
  };
}

function apiSettings(): ApiSettings {
  return {
    version: environment.version,
    userAgent: environment.userAgent,
    defaultRetryPolicy: environment.defaultRetryPolicy,
    ...switchesOfDeployment(environment),
    retryThrottled: environment.retryThrottled,
    retentionMs: environment.retentionDays * DAY_MS,
    retryAfterCapMs: environment.retryAfterCapSeconds * 1000,
    overdueAfterMs: environment.overdueAfterSeconds * 1000,
    subscriptionConfirmation: environment.subscriptionConfirmation,
    queueStatistics: environment.queueStatistics,
    queueLimit: {
      subscriptions: environment.maxSubscriptionsPerQueue,
      bytes: environment.maxSubscriptionMegabytesPerQueue * 2 ** 20,
    },
    jwtScopes: environment.jwtScopes,
    jwtQueuesClaim: environment.jwtQueuesClaim,
  };
}
