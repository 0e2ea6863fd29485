import { variables } from '../../shared/config/resources.ts';
import type { Setting, Variable } from '../../shared/config/rules.ts';
import { functionSettings } from '../../shared/config/settings.ts';
import { DEFAULT_RETRY_POLICY } from '../../shared/domain/retry/policy.ts';

export const QUEUE = 'https://sqs.us-east-1.amazonaws.com/000000000000/queue';

const rows: readonly (Setting & Variable)[] = Object.values(functionSettings);

const defaults = rows.map(({ variable, default: value }): [string, string] => [
  variable,
  typeof value === 'string' ? value : JSON.stringify(value ?? ''),
]);

/** All environment variables, as infra sets them. */
export const completeEnvironment: Record<string, string> = {
  ...Object.fromEntries(defaults),
  [variables.version]: '1.2.3',
  [variables.subscriptionsTable]: 'subscriptions',
  [variables.deliveriesTable]: 'deliveries',
  [variables.payloadBucket]: 'payloads',
  [variables.secretsKeyArn]: 'arn:secrets',
  [variables.ingressQueueUrl]: `${QUEUE}-ingress`,
  [variables.ingressDeadLetterUrl]: `${QUEUE}-ingress-dead`,
  [variables.deliveryQueueUrl]: `${QUEUE}-delivery`,
  [variables.retryQueueUrl]: `${QUEUE}-retry`,
  [variables.deliveryDeadLetterUrl]: `${QUEUE}-delivery-dead`,
  [variables.undeliverableQueueUrl]: `${QUEUE}-undeliverable`,
  [variables.operationQueueUrl]: `${QUEUE}-operation`,
  [variables.operationDeadLetterUrl]: `${QUEUE}-operation-dead`,
  [variables.queueUrls]: JSON.stringify({
    ingress: `${QUEUE}-ingress`,
    delivery: `${QUEUE}-delivery`,
    retry: `${QUEUE}-retry`,
    operation: `${QUEUE}-operation`,
  }),
  [variables.adaptToThrottling]: 'false',
  [variables.holdWhileDown]: 'true',
  [variables.publicApiUrl]: 'https://hooks.example.com',
  [variables.jwtScopes]: '{"read":"r","publish":"p","manage":"m","credentials":"c"}',
  [variables.jwtQueuesClaim]: 'queues',
  [variables.maxSubscriptionsPerQueue]: '100000',
  [variables.maxSubscriptionMegabytesPerQueue]: '64',
  [variables.operatorEventBus]: 'operator-events',
  [variables.disableFailingAfterDays]: '0.5',
  [variables.scheduleGroup]: 'group',
  [variables.schedulerRoleArn]: 'arn:role',
  [variables.schedulerDeadLetterArn]: 'arn:dead',
  [variables.defaultRetryPolicy]: JSON.stringify(DEFAULT_RETRY_POLICY),
  [variables.allowedAddresses]: '["127.0.0.0/8","::1/128"]',
  [variables.userAgent]: 'Posthaste/1.2.3',
  [variables.ingressRoutes]: '{"aws.ec2":"instances"}',
  [variables.portalTitle]: 'Acme',
  [variables.portalAccent]: '#0a6cff',
  [variables.portalFrameAncestors]: '["https://app.example.com"]',
  [variables.portalMaxEndpoints]: '3',
  [variables.portalHosts]: '["*.example.com"]',
  [variables.portalMaxPerSecond]: '5',
  [variables.portalRoleArn]: 'arn:aws:iam::111122223333:role/portal',
  [variables.apiArn]: 'arn:aws:execute-api:us-east-1:111122223333:api/$default',
  [variables.apiUrl]: 'https://api.example.com',
  [variables.payloadSources]: '[{"bucket":"producer","prefix":"webhooks/","owner":"111122223333"}]',
};
