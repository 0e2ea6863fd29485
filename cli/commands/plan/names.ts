import type { PeakName } from './model/peaks.ts';
import type { PeerCost } from './model/peers.ts';
import type { Priced } from './model/prices.ts';

/** What lines of the bill are called. */
export const lineNames: Readonly<Record<Priced, string>> = {
  dynamodbWriteUnits: 'DynamoDB, write units',
  dynamodbReadUnits: 'DynamoDB, read units',
  dynamodbStorage: 'DynamoDB, GB stored',
  dynamodbBackup: 'DynamoDB, GB in point-in-time recovery',
  sqsRequests: 'SQS, requests',
  lambdaRequests: 'Lambda, invocations',
  lambdaCompute: 'Lambda, GB-seconds',
  schedulerInvocations: 'EventBridge Scheduler, schedules',
  events: 'EventBridge, events',
  s3Puts: 'S3, objects put',
  s3Gets: 'S3, objects fetched',
  s3Storage: 'S3, GB stored',
  kmsRequests: 'KMS, requests',
  kmsKeys: 'KMS, keys',
  logs: 'CloudWatch Logs, GB',
  metrics: 'CloudWatch, metrics',
  alarmMetrics: 'CloudWatch, metrics that alarms look at',
  compositeAlarms: 'CloudWatch, composite alarms',
  dashboards: 'CloudWatch, dashboards',
  dataOut: 'Data out to the internet, GB',
  snsPublishes: 'SNS, publishes',
  snsHttpDeliveries: 'SNS, HTTP deliveries',
  apiDestinations: 'EventBridge, API destinations',
};

export const peerNames: Readonly<Record<PeerCost['peer'], string>> = {
  sns_http: 'Amazon SNS over HTTP',
  api_destinations: 'EventBridge API Destinations',
};

export const peakNames: Readonly<Record<PeakName, string>> = {
  schedules: 'Schedules at once',
  create_schedule_rate: 'CreateSchedule a second',
  schedule_invocation_rate: 'Schedules carried out a second',
  lambda_concurrency: 'Lambda, concurrent executions',
  dispatch_concurrency: 'dispatch, concurrent executions',
  deliver_concurrency: 'deliver, concurrent executions',
  table_write_rate: 'DynamoDB, write units a second on the deliveries table',
  table_read_rate: 'DynamoDB, read units a second on the deliveries table',
  new_table_write_rate: 'DynamoDB, write units a second on a table made today',
  index_partition_write_rate: 'DynamoDB, write units a second on one key of a listing',
  in_flight_messages: 'SQS, messages in flight on one queue',
};
