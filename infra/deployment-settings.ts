import { z } from 'zod';
import {
  flag,
  listOfEach,
  matching,
  oneOf,
  type Setting,
  valueOf,
  wholeNumber,
} from '../shared/config/rules.ts';

/** The periods that CloudWatch Logs knows, except forever: our logs always expire. */
const LOG_RETENTION_DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
] as const;

function concurrency() {
  return wholeNumber('concurrent invocations', 2, 1000);
}

const VPC = '{"vpcId", "subnetIds"}, JSON, with the ids of a VPC and of up to 16 of its subnets';
const vpcError = `must be ${VPC}`;

const vpc = z
  .preprocess(
    valueOf,
    z.strictObject(
      {
        vpcId: z.string(vpcError).regex(/^vpc-[0-9a-f]{8,17}$/, vpcError),
        subnetIds: z
          .array(z.string(vpcError).regex(/^subnet-[0-9a-f]{8,17}$/, vpcError), vpcError)
          .min(1, vpcError)
          // Lambda's quota ("VpcConfig", Lambda API reference).
          .max(16, vpcError),
      },
      vpcError,
    ),
  )
  .describe(VPC);

const SOURCES = 'a list of up to 10 {"bucket", "prefix"?, "owner"?, "keyArn"?}, JSON';

const payloadSource = z.strictObject(
  {
    bucket: matching(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'the name of a general purpose bucket'),
    // It becomes part of an ARN, in which these stand for more than themselves. `tenant-1` would also let in `tenant-10/`.
    prefix: matching(
      /^(?:[^*?$]{1,199}\/)?$/,
      'at most 200 characters without * ? $, with a slash at their end',
    ).default(''),
    owner: matching(/^[0-9]{12}$/, 'the 12 digits of an account').optional(),
    keyArn: matching(
      /^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key\/[A-Za-z0-9-]+$/,
      'the ARN of a KMS key',
    ).optional(),
  },
  `must be ${SOURCES}`,
);

const SENDER =
  /^arn:[a-z-]+:(?:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+|events:[a-z0-9-]+:[0-9]{12}:rule\/[A-Za-z0-9_./-]+)$/;

/** Not of a FIFO topic, whose name ends in `.fifo`: it wants a message group, which alarms do not give. */
const TOPIC = /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}$/;

/** The settings that only the deployment takes. Those that functions get as well are in shared/config/settings.ts. */
export const deploymentSettings = {
  local: {
    rule: flag(),
    default: false,
    description:
      'For a laptop: everything can be deleted (no deletion protection, no point-in-time recovery), subscribers on loopback are allowed, and `apiAuthorization` may be `none`.',
  },
  dispatchConcurrency: {
    rule: concurrency(),
    default: 50,
    description: 'Most concurrent invocations of dispatch.',
  },
  deliverConcurrency: {
    rule: concurrency(),
    default: 100,
    description: 'Most concurrent invocations of deliver for first attempts, each with up to 10 jobs.',
  },
  retryConcurrency: {
    rule: concurrency(),
    default: 50,
    description: 'Most concurrent invocations of deliver for retries, each with up to 10 wake-ups.',
  },
  messagesPerBatch: {
    // AWS Lambda developer guide, "Creating and configuring an Amazon SQS event source mapping".
    rule: wholeNumber('messages', 1, 100),
    default: 10,
    description:
      'Most messages, and first jobs, that an invocation takes at once. Over 10 needs `batchWindowSeconds`. Times `firstAttemptsPerJob` at most 500. Retries: always 10.',
  },
  batchWindowSeconds: {
    // With a window, a quiet queue is waited on for up to 20 s, also where the window is shorter (the same page).
    rule: wholeNumber('seconds', 0, 60),
    default: 0,
    description:
      'How long Lambda gathers messages, and then jobs, for a batch: fewer invocations, later deliveries. With any window, on a quiet queue each of the two may take up to 20 s. Retries are never gathered. `posthaste plan --batch-window-seconds` warns where that is so.',
  },
  apiRateLimit: {
    // The upper bound is the account's quota in API Gateway.
    rule: wholeNumber('requests a second', 1, 10_000),
    default: 100,
    description:
      'Requests a second that the API takes, [twice as many at once](deployment.md#limits-of-the-api). 100 take some ten of the concurrent functions of the account, so that no caller of the API can starve the deliveries.',
  },
  apiAuthorization: {
    rule: oneOf('iam', 'jwt', 'none'),
    default: 'iam',
    description: 'How callers of the API prove who they are; `none` only with `local`.',
  },
  jwtIssuer: {
    rule: z.url({ protocol: /^https$/, error: 'must be an https URL' }).describe('an https URL'),
    description: 'Issuer of the tokens; needed with `jwt`, refused without.',
  },
  jwtAudience: {
    rule: listOfEach(matching(/./s, 'an audience'), 'audiences with commas between', { least: 1 }),
    description: 'Audiences accepted; needed with `jwt`, refused without.',
  },
  ingressSenders: {
    // A queue's policy holds at most 32 KB (Amazon SQS quotas).
    rule: listOfEach(
      matching(SENDER, 'the ARN of an SNS topic or of an EventBridge rule'),
      'up to 20 ARNs with commas between',
      { most: 20 },
    ),
    default: [],
    unset: 'none',
    description:
      'SNS topics and EventBridge rules that [may send](ingress.md#connect-a-rule-or-a-topic) to the ingress queue.',
  },
  payloadSources: {
    rule: z
      .preprocess(valueOf, z.array(payloadSource, `must be ${SOURCES}`).max(10, `must be ${SOURCES}`))
      .describe(SOURCES),
    default: [],
    unset: 'none',
    // The account of each is added to it.
    longest: 500,
    description:
      'Buckets of producers, in this region, in which the [data of a message](ingress.md#data-in-a-bucket-of-yours) may lie: each with the prefix of its keys, which ends in a slash (default all), the account that owns it (default ours) and, if it is encrypted with a KMS key, that key.',
  },
  staticAddresses: {
    rule: wholeNumber('addresses', 0, 2),
    default: 0,
    description:
      'Requests to subscribers come from so many [addresses that stay](operations.md#static-addresses), each with a NAT gateway for $36.50 a month, in a VPC made for it. 0: no VPC, and addresses that change.',
  },
  vpc: {
    rule: vpc,
    description: 'An existing VPC, and subnets of it from which requests to subscribers are made.',
  },
  logRetentionDays: {
    rule: z
      .preprocess(valueOf, z.literal(LOG_RETENTION_DAYS, `must be one of ${LOG_RETENTION_DAYS.join(', ')}`))
      .describe(`a period of CloudWatch Logs: ${LOG_RETENTION_DAYS.join(', ')} days`),
    default: 30,
    description: 'How long logs are kept.',
  },
  alarmTopicArn: {
    rule: matching(TOPIC, 'the ARN of a standard SNS topic'),
    description:
      'Topic, of the same account and region, that [alarms](operations.md#alarms) notify. One that does not exist fails the deployment. Without it alarms only show.',
  },
  tracing: {
    rule: flag(),
    default: false,
    description:
      'X-Ray traces, from the ingress queue to the last attempt ([what they show and cost](operations.md#traces)).',
  },
} satisfies Record<string, Setting>;
