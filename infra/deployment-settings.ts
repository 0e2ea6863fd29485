import { Token } from 'aws-cdk-lib';
import { Dependable, type IDependable } from 'constructs';
import { z } from 'zod';
import { functionMemory } from '../shared/config/function-memory.ts';
import {
  flag,
  listOfEach,
  matching,
  MEMORY_MEGABYTES,
  oneOf,
  parseValue,
  type Setting,
  wholeNumber,
} from '../shared/config/rules.ts';
import { VpcNetwork } from './constructs/functions/network.ts';

/** The retention periods of CloudWatch Logs, without `forever`: logs must expire. */
const LOG_RETENTION_DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
] as const;

/** CodeDeploy's configurations `LambdaCanary10Percent…Minutes`, and none. */
const CANARY_MINUTES = [0, 5, 10, 15, 30] as const;
const CANARY = `one of ${CANARY_MINUTES.join(', ')} minutes`;

function concurrency() {
  return wholeNumber('concurrent invocations', 2, 1000);
}

const VPC = 'JSON: {"vpcId", "subnetIds"}, with the ids of a VPC and of up to 16 of its subnets';
const vpcError = `must be ${VPC}`;
const subnetsError = 'must be 1 to 16 ids of subnets';

/** Text that matches, or a token: what other resources of an app are called is known at the deployment. */
function matchingOrToken(form: RegExp, text: string) {
  // In the second form CDK knows the only item of a list that is a token.
  const isToken = (given: string) => [given, [given]].some((one) => Token.isUnresolved(one));
  return matching((given) => isToken(given) || form.test(given), text);
}

const network = z.strictObject(
  {
    vpcId: matchingOrToken(/^vpc-[0-9a-f]{8,17}$/, 'the id of a VPC'),
    subnetIds: z
      .array(matchingOrToken(/^subnet-[0-9a-f]{8,17}$/, 'the id of a subnet'), subnetsError)
      .min(1, subnetsError)
      // Lambda's quota ("VpcConfig", Lambda API reference).
      .max(16, subnetsError),
    // Only in code.
    wayOut: z.custom<IDependable>(isDependable, vpcError).optional(),
  },
  vpcError,
);

function isDependable(given: unknown): boolean {
  try {
    Dependable.of(given as IDependable);
    return true;
  } catch {
    return false;
  }
}

const vpc = z.preprocess(parseValue, z.union([z.instanceof(VpcNetwork), network], vpcError)).describe(VPC);

const SOURCES = 'a JSON list of up to 10 {"bucket", "prefix"?, "owner"?, "keyArn"?}';

const payloadSource = z.strictObject(
  {
    bucket: matching(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'the name of a general purpose bucket'),
    // Part of an ARN, in which these are wildcards. Without the slash, `tenant-1` would also allow `tenant-10/`.
    prefix: matching(
      /^(?:[^*?$]{1,199}\/)?$/,
      'at most 200 characters without * ? $, ending with a slash',
    ).default(''),
    owner: matching(/^[0-9]{12}$/, 'the 12 digits of an account').optional(),
    keyArn: matching(
      /^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key\/[A-Za-z0-9-]+$/,
      'the ARN of a KMS key',
    ).optional(),
  },
  `must be ${SOURCES}`,
);

/** A producer's bucket. */
export type PayloadSource = Readonly<z.input<typeof payloadSource>>;

const SENDER =
  /^arn:[a-z-]+:(?:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+|events:[a-z0-9-]+:[0-9]{12}:rule\/[A-Za-z0-9_./-]+)$/;

/** Excludes FIFO topics, whose names end in `.fifo`: they need a message group, which alarms do not send. */
const TOPIC = /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}$/;

const CONTACT = 'an http or https URL, or a mail address, of at most 200 characters';

/** Visible ASCII without the characters that a comment in a header would have to quote. */
const CONTACT_FORM = /^(?=[\x21-\x7e]{1,200}$)(?:https?:\/\/[^()\\]+|[^\s()\\"<>,;:@/]+@[A-Za-z0-9.-]+)$/;

/** Settings of the deployment alone. Those that functions read are in shared/config/settings.ts. */
export const deploymentSettings = {
  local: {
    rule: flag,
    default: false,
    description:
      'For a local AWS: all resources can be deleted (no deletion protection, no point-in-time recovery), subscribers on loopback addresses are allowed, and `apiAuthorization` may be `none`.',
  },
  portal: {
    rule: flag,
    default: false,
    description:
      'Whether each customer can get [a page](portal.md), for which the deployment has another function, role and routes.',
  },
  compute: {
    rule: oneOf('lambda', 'both', 'worker'),
    default: 'lambda',
    description:
      'What does the work: the functions, [workers](worker.md), or both at once. Unless it is `lambda`, there are managed policies for workers. With `worker`, SQS and the timer no longer invoke the functions.',
  },
  canaryMinutes: {
    rule: z.preprocess(parseValue, z.literal(CANARY_MINUTES, `must be ${CANARY}`)).describe(CANARY),
    default: 5,
    description:
      'How long a new version of a function gets 10 % of the invocations before it [gets all](operations.md#upgrade), unless it fails. 0, and always with `local`: all at once.',
  },
  dispatchConcurrency: {
    rule: concurrency(),
    default: 50,
    description: 'Maximum number of concurrent invocations of dispatch.',
  },
  deliverConcurrency: {
    rule: concurrency(),
    default: 100,
    description:
      'Maximum number of concurrent invocations of deliver for first attempts, each with up to `messagesPerBatch` jobs.',
  },
  retryConcurrency: {
    rule: concurrency(),
    default: 50,
    description:
      'Maximum number of concurrent invocations of deliver for retries, each with up to 10 wake-ups.',
  },
  messagesPerBatch: {
    // AWS Lambda developer guide, "Creating and configuring an Amazon SQS event source mapping".
    rule: wholeNumber('messages', 1, 100),
    default: 10,
    description:
      'Batch size: maximum number of messages (dispatch) or jobs (deliver) in one invocation. More than 10 needs `batchWindowSeconds`. The product with `firstAttemptsPerJob` is at most 500. Retries always use 10.',
  },
  batchWindowSeconds: {
    // With any window, Lambda waits for up to 20 s on a quiet queue (the same page).
    rule: wholeNumber('seconds', 0, 60),
    default: 0,
    description:
      'How long Lambda gathers messages, and then jobs, for a batch: fewer invocations, later deliveries. With any value over 0, a quiet queue can add up to 20 s to each of the two steps; `posthaste plan --batch-window-seconds` warns of this. Retries are never gathered.',
  },
  memoryMegabytes: {
    rule: functionMemory,
    default: {},
    unset: Object.entries(MEMORY_MEGABYTES)
      .map(([name, size]) => `${name} ${size}`)
      .join(', '),
    description:
      'Memory of functions, and with it [their share of a processor](cost-and-performance.md#memory). With `payloadSources` dispatch has 1024 by default.',
  },
  apiRateLimit: {
    // The upper bound is API Gateway's quota for an account.
    rule: wholeNumber('requests a second', 1, 10_000),
    default: 100,
    description:
      'Requests a second that the API accepts, with [bursts of twice as many](operations.md#limits-of-the-api). Keeps API callers from using up the concurrency of the account: 100 requests a second use about ten concurrent functions.',
  },
  apiConcurrency: {
    rule: wholeNumber('concurrent invocations', 1, 1000),
    description:
      'Concurrent invocations reserved for each of the two functions of the API, and for that of the portal, and the most that it can have: no caller can take those of deliveries. Not in accounts that can reserve none, such as new ones with 10 in all; set a low `apiRateLimit` there.',
  },
  apiAuthorization: {
    rule: oneOf('iam', 'jwt', 'none'),
    default: 'iam',
    description:
      'How callers of the API authenticate: AWS signatures, JSON Web Tokens, or not at all (only with `local`).',
  },
  jwtIssuer: {
    rule: z.url({ protocol: /^https$/, error: 'must be an https URL' }).describe('an https URL'),
    description: 'The issuer of the tokens. Required with `apiAuthorization=jwt`, refused otherwise.',
  },
  jwtAudience: {
    rule: listOfEach(matching(/./s, 'an audience'), 'audiences, separated by commas', { least: 1 }),
    description: 'The accepted audiences. Required with `apiAuthorization=jwt`, refused otherwise.',
  },
  ingressSenders: {
    // A queue's policy holds at most 32 KB (Amazon SQS quotas).
    rule: listOfEach(
      matching(SENDER, 'the ARN of an SNS topic or of an EventBridge rule'),
      'up to 20 ARNs, separated by commas',
      { most: 20 },
    ),
    default: [],
    unset: 'none',
    description:
      'SNS topics and EventBridge rules that [may send](ingress.md#connect-a-rule-or-a-topic) to the ingress queue.',
  },
  payloadSources: {
    rule: z
      .preprocess(parseValue, z.array(payloadSource, `must be ${SOURCES}`).max(10, `must be ${SOURCES}`))
      .describe(SOURCES),
    default: [],
    unset: 'none',
    // The account id is added to each.
    longest: 500,
    description:
      "Producers' buckets in this region, from which Posthaste reads the [data of messages](ingress.md#data-in-a-bucket). `prefix`: prefix of the keys, ending with a slash (default: all keys). `owner`: the account of the bucket (default: the account of the deployment). `keyArn`: the KMS key, if the bucket is encrypted with one.",
  },
  staticAddresses: {
    rule: wholeNumber('addresses', 0, 2),
    default: 0,
    description:
      'The number of [fixed IP addresses](operations.md#static-addresses) that requests to subscribers come from. Creates a VPC with one NAT gateway, $36.50 a month, for each. 0: no VPC, and changing addresses.',
  },
  zoneIds: {
    rule: listOfEach(
      matching(/^[a-z]+[0-9]+-az[0-9]+$/, 'the id of a zone, such as use1-az1'),
      'the ids of two zones, separated by a comma',
      { least: 2, most: 2 },
    ),
    unset: 'the first two zones of the account',
    description:
      'The zones of the VPC of `staticAddresses`, by their ids. [Other zones later](operations.md#before-you-deploy) mean other addresses.',
  },
  vpc: {
    rule: vpc,
    description: 'An existing VPC and its subnets, from which requests to subscribers are sent.',
  },
  multiRegionKey: {
    rule: flag,
    default: false,
    description:
      'Whether the key of the secrets can have replicas in other regions. [Cannot be changed later](operations.md#before-you-deploy): an update that changes it fails.',
  },
  warmWritesPerSecond: {
    // On-demand tables start with 4,000 (DynamoDB developer guide, "Warm throughput").
    rule: wholeNumber('write units', 4_001, 1_000_000),
    unset: '4000, as of a new table',
    description:
      'Write units a second that the deliveries table and its indexes can take [from the start](operations.md#before-you-deploy): the number of `posthaste plan`. Cannot be lowered.',
  },
  userAgentContact: {
    rule: matching(CONTACT_FORM, CONTACT),
    unset: 'none',
    description:
      'Where receivers find out who calls them. Sent in the `user-agent` of every request: `Posthaste/0.1.0 (+https://example.com/webhooks)`, or `(hooks@example.com)`.',
  },
  logRetentionDays: {
    rule: z
      .preprocess(
        parseValue,
        z.literal(LOG_RETENTION_DAYS, `must be one of ${LOG_RETENTION_DAYS.join(', ')}`),
      )
      .describe(`a retention period of CloudWatch Logs: ${LOG_RETENTION_DAYS.join(', ')} days`),
    default: 30,
    description: 'How long logs are kept.',
  },
  alarmTopicArn: {
    rule: matchingOrToken(TOPIC, 'the ARN of a standard SNS topic'),
    description:
      'The SNS topic that [alarms](operations.md#alarms) notify, in the same account and region. The deployment fails if it does not exist. Without a topic, alarms are only visible in CloudWatch.',
  },
  runbookUrl: {
    rule: matching(
      /^(?:https:\/\/[^\s#?]{1,200}|docs\/operations\.md)$/,
      'an https URL of at most 200 characters, without # and ?',
    ),
    default: 'docs/operations.md',
    description:
      'Where the person on call reads [the runbook](operations.md): alarm descriptions link to its sections. Set the address at which you publish `docs/operations.md`; by default the file of the deployed version is named.',
  },
} satisfies Record<string, Setting>;
