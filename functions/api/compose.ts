import { randomUUID } from 'node:crypto';
import { dynamoDeliveryListings } from '../../shared/adapters/dynamodb/deliveries/delivery-listings.ts';
import {
  cachedEventTypes,
  dynamoEventTypes,
} from '../../shared/adapters/dynamodb/subscriptions/event-types.ts';
import { dynamoMessageListings } from '../../shared/adapters/dynamodb/deliveries/message-listings.ts';
import { dynamoPortalSessions } from '../../shared/adapters/dynamodb/subscriptions/portal-sessions.ts';
import { dynamoQueueStatistics } from '../../shared/adapters/dynamodb/deliveries/queue-statistics.ts';
import { dynamoRateLimits } from '../../shared/adapters/dynamodb/subscriptions/rate-limits.ts';
import { dynamoRecoveries } from '../../shared/adapters/dynamodb/deliveries/recoveries.ts';
import { lazyOperatorEvents } from '../../shared/adapters/eventbridge/lazy-operator-events.ts';
import { subscriberFault } from '../../shared/adapters/http/address-guard.ts';
import { tokenUrlFault } from '../../shared/adapters/http/guarded-fetch.ts';
import { lazySecretSealer } from '../../shared/adapters/kms/lazy-secret-sealer.ts';
import { lazySchemaCheck, lazyValidation } from '../../shared/adapters/pattern/lazy-validation.ts';
import { lazyScheduleRemoval } from '../../shared/adapters/scheduler/lazy-wake-ups.ts';
import * as queues from '../../shared/adapters/sqs/queues.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';
import { PORTAL_MAX_ENDPOINTS } from '../../shared/domain/portal/limits.ts';
import { switchesOfDeployment } from '../../shared/domain/subscription/switches.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { type Environment, readEnvironment } from '../../shared/config/environment.ts';
import { type AwsWithEvents, composeAws, withOperatorEvents } from '../compose.ts';
import type { ApiDependencies, ApiPorts, PortalSettings } from './dependencies.ts';
import { commonPorts } from './common-ports.ts';

/** Ports and settings of the API from the environment of its function. @throws EnvironmentError */
export function composeApi() {
  const environment = readEnvironment('api');
  const aws = withOperatorEvents(composeAws('api', environment), environment, lazyOperatorEvents);
  const { deadline, journal } = aws;
  const dependencies: ApiDependencies = {
    ...createPorts(environment, aws),
    settings: {
      ...aws.settings,
      ...switchesOfDeployment(environment),
      version: environment.version,
      userAgent: environment.userAgent,
      defaultRetryPolicy: environment.defaultRetryPolicy,
      retryThrottled: environment.retryThrottled,
      archiveMs: environment.archiveDays * DAY_MS,
      attemptTimeoutMs: environment.attemptTimeoutSeconds * 1000,
      subscriptionCacheMs: environment.subscriptionCacheSeconds * 1000,
      overdueAfterMs: environment.overdueAfterSeconds * 1000,
      subscriptionConfirmation: environment.subscriptionConfirmation,
      eventValidation: environment.eventValidation,
      queueStatistics: environment.queueStatistics,
      queueLimit: {
        subscriptions: environment.maxSubscriptionsPerQueue,
        bytes: environment.maxSubscriptionMegabytesPerQueue * 2 ** 20,
      },
      jwtScopes: environment.jwtScopes,
      jwtQueuesClaim: environment.jwtQueuesClaim,
      portal: portalSettings(environment),
    },
  };
  return { dependencies, deadline, journal, publicApiUrl: environment.publicApiUrl };
}

function createPorts(environment: Environment<'api'>, aws: AwsWithEvents): ApiPorts {
  const { deliveriesTable, queueUrls } = environment;
  const { invocation, dynamo, sqs, pacing } = aws;
  return {
    ...commonPorts(aws, environment),
    operatorEvents: aws.ports.operatorEvents,
    newId: randomUUID,
    messageListings: dynamoMessageListings(dynamo, deliveriesTable),
    statistics: dynamoQueueStatistics(dynamo, deliveriesTable),
    deliveryListings: dynamoDeliveryListings(dynamo, deliveriesTable, pacing),
    rateLimits: dynamoRateLimits(dynamo, deliveriesTable, clock),
    recoveries: dynamoRecoveries(dynamo, deliveriesTable),
    eventTypes: dynamoEventTypes(dynamo, environment.subscriptionsTable),
    eventChecks: {
      eventTypes: cachedEventTypes(dynamo, environment.subscriptionsTable, {
        clock,
        cacheSeconds: environment.subscriptionCacheSeconds,
      }),
      validateEvent: lazyValidation(),
    },
    checkSchema: lazySchemaCheck(),
    portalSessions: dynamoPortalSessions(dynamo, environment.subscriptionsTable),
    secretSealer: lazySecretSealer(invocation, environment.secretsKeyArn),
    ingress: queues.sqsIngress({ ...pacing, sqs, queueUrl: queueUrls.ingress }),
    deliveryQueue: queues.sqsDeliveryQueue({ ...pacing, sqs, queueUrl: queueUrls.delivery }),
    operations: queues.sqsOperations(sqs, queueUrls.operation),
    queueDepths: queues.sqsQueueDepths(sqs, queueUrls),
    wakeUps: {
      ...queues.sqsWakeUps({ ...pacing, sqs, queueUrl: queueUrls.retry }),
      ...lazyScheduleRemoval(invocation, { group: environment.scheduleGroup }),
    },
    subscriberFault: (subscriber) => subscriberFault(subscriber, environment),
    tokenUrlFault: (url) => tokenUrlFault(url, environment),
  };
}

function portalSettings(environment: Environment<'api'>): PortalSettings | undefined {
  const { portalRoleArn: roleArn, portalHosts: hosts, portalMaxPerSecond: perSecond } = environment;
  if (roleArn === undefined) return undefined;
  return {
    roleArn,
    title: environment.portalTitle ?? 'Webhooks',
    accent: environment.portalAccent,
    limits: {
      endpoints: environment.portalMaxEndpoints ?? PORTAL_MAX_ENDPOINTS,
      ...(hosts !== undefined && { hosts }),
      ...(perSecond !== undefined && { perSecond }),
    },
    // Requests to private networks must not become a way to read there.
    responseBodies: environment.allowedAddresses.length === 0,
  };
}
