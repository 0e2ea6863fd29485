/** Names of the environment variables that infra sets and `environment.ts` parses. One place, so that they cannot drift. */
export const variables = {
  deployment: 'DEPLOYMENT',
  /** Under which the regions of this partition of AWS have their services, such as amazonaws.com. */
  serviceDomain: 'SERVICE_DOMAIN',
  subscriptionsTable: 'SUBSCRIPTIONS_TABLE',
  deliveriesTable: 'DELIVERIES_TABLE',
  payloadBucket: 'PAYLOAD_BUCKET',
  /** The KMS key under which signing secrets are sealed. */
  secretsKeyArn: 'SECRETS_KEY_ARN',
  ingressQueueUrl: 'INGRESS_QUEUE_URL',
  ingressDeadLetterUrl: 'INGRESS_DEAD_LETTER_URL',
  deliveryQueueUrl: 'DELIVERY_QUEUE_URL',
  retryQueueUrl: 'RETRY_QUEUE_URL',
  retryQueueArn: 'RETRY_QUEUE_ARN',
  deliveryDeadLetterUrl: 'DELIVERY_DEAD_LETTER_URL',
  undeliverableQueueUrl: 'UNDELIVERABLE_QUEUE_URL',
  operatorEventBus: 'OPERATOR_EVENT_BUS',
  operationQueueUrl: 'OPERATION_QUEUE_URL',
  operationDeadLetterUrl: 'OPERATION_DEAD_LETTER_URL',
  scheduleGroup: 'SCHEDULE_GROUP',
  schedulerRoleArn: 'SCHEDULER_ROLE_ARN',
  schedulerDeadLetterArn: 'SCHEDULER_DEAD_LETTER_ARN',
  /** JSON of a complete RetryPolicy. */
  defaultRetryPolicy: 'DEFAULT_RETRY_POLICY',
  attemptTimeoutSeconds: 'ATTEMPT_TIMEOUT_SECONDS',
  schedulerThresholdSeconds: 'SCHEDULER_THRESHOLD_SECONDS',
  subscriptionCacheSeconds: 'SUBSCRIPTION_CACHE_SECONDS',
  retentionDays: 'RETENTION_DAYS',
  retainMessages: 'RETAIN_MESSAGES',
  /** How many subscriptions of a message one job is for, about. */
  firstAttemptsPerJob: 'FIRST_ATTEMPTS_PER_JOB',
  retryAfterCapSeconds: 'RETRY_AFTER_CAP_SECONDS',
  /** After so long without a success a subscription is disabled; 0: never. */
  disableFailingAfterDays: 'DISABLE_FAILING_AFTER_DAYS',
  /** How long past due a delivery is before reconcile wakes it. */
  overdueAfterSeconds: 'OVERDUE_AFTER_SECONDS',
  /** JSON list of CIDR ranges that subscribers may be at though they are not global unicast. */
  allowedAddresses: 'ALLOWED_ADDRESSES',
  /** JSON list of ports and ranges of ports that subscribers may be at; empty: any. */
  allowedPorts: 'ALLOWED_PORTS',
  /** What subscribers are told of who calls them. */
  userAgent: 'USER_AGENT',
  /** JSON object: source, detail-type or topic → queue. */
  ingressRoutes: 'INGRESS_ROUTES',
  /** JSON list of PayloadSource: where data that a message refers to may lie. */
  payloadSources: 'PAYLOAD_SOURCES',
  /** JSON object: name of an SQS queue of ours → its URL, for the health of all. */
  queueUrls: 'QUEUE_URLS',
  /** `true`: every new subscriber is asked for confirmation. */
  subscriptionConfirmation: 'SUBSCRIPTION_CONFIRMATION',
  /** Where the API is reached from outside; absent: at its own domain. */
  publicApiUrl: 'PUBLIC_API_URL',
  version: 'POSTHASTE_VERSION',
  logLevel: 'LOG_LEVEL',
  /** How many of the messages that get through at the first try are logged, 0 to 1. */
  logSuccessSampling: 'LOG_SUCCESS_SAMPLING',
} as const;
