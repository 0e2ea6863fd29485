import { readFileSync } from 'node:fs';
import { App, Duration, Lazy, Stack, Token } from 'aws-cdk-lib';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { describe, expect, it } from 'vitest';
import type { PosthasteProps } from '../../infra/posthaste-props.ts';
import { propsFile, propsText } from '../../infra/props-file.ts';
import { propNames, settingsFromProps } from '../../infra/settings-from-props.ts';
import { parseSettings, SettingsError } from '../../infra/settings.ts';

const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:on-call';
const jwtScopes = { read: 'r', publish: 'p', manage: 'm', credentials: 'c' };
const ids = { vpcId: 'vpc-0123456789abcdef0', subnetIds: ['subnet-0123456789abcdef0'] };

const settingsOf = (props: PosthasteProps, posthaste?: unknown) =>
  settingsFromProps(new App({ context: { posthaste } }), props);

const problemsWith = (props: Record<string, unknown>, posthaste?: unknown): readonly string[] => {
  try {
    settingsOf(props, posthaste);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
};

/** Each property with a value, except those that exclude another. */
const every: Required<Omit<PosthasteProps, 'vpcSubnets' | 'staticAddresses'>> = {
  deployment: 'Shop',
  attemptTimeout: Duration.seconds(20),
  schedulerThreshold: Duration.minutes(2),
  subscriptionCache: Duration.seconds(0),
  defaultRetryPolicy: { minimum_delay: 2 },
  retryAfterCap: Duration.hours(2),
  adaptToThrottling: true,
  holdWhileDown: true,
  backPressure: true,
  circuitRequests: 20,
  circuitFailurePercent: 80,
  circuitWindow: Duration.minutes(1),
  retryThrottled: true,
  retention: Duration.days(40),
  retainMessages: 'all',
  queueStatistics: false,
  attemptEvents: true,
  firstAttemptsPerJob: 5,
  overdueAfter: Duration.minutes(1),
  disableFailingAfter: Duration.hours(12),
  allowedAddresses: ['10.0.0.0/8'],
  allowedPorts: [443, '8000-9000'],
  subscriptionConfirmation: true,
  maxSubscriptionsPerQueue: 7,
  maxSubscriptionMegabytesPerQueue: 8,
  publicApiUrl: 'https://hooks.example.com',
  jwtScopes,
  jwtQueuesClaim: 'queues',
  ingressRoutes: { 'my.shop': 'orders', [TOPIC]: ['bills', 'orders'] },
  logLevel: 'warn',
  logSuccessSampling: 0.5,
  local: true,
  compute: 'both',
  dispatchConcurrency: 2,
  deliverConcurrency: 3,
  retryConcurrency: 4,
  messagesPerBatch: 20,
  batchWindow: Duration.seconds(5),
  apiRateLimit: 9,
  apiConcurrency: 10,
  apiAuthorization: 'jwt',
  jwtIssuer: 'https://id.example.com',
  jwtAudience: ['posthaste'],
  ingressSenders: [TOPIC],
  payloadSources: [{ bucket: 'producer', prefix: 'events/' }],
  vpc: ids,
  userAgentContact: 'hooks@example.com',
  logRetention: RetentionDays.ONE_WEEK,
  alarmTopic: Topic.fromTopicArn(new Stack(), 'Topic', TOPIC),
  runbookUrl: 'https://runbooks.example.com/posthaste',
  tracing: true,
};

describe('the properties of the constructs', () => {
  it('are declared in infra/posthaste-props.ts as the rows say (npm run docs:settings)', async () => {
    expect(readFileSync(propsFile, 'utf8')).toBe(await propsText());
  });

  it('stand for all settings, in the units of the settings', () => {
    const {
      attemptTimeout: _a,
      subscriptionCache: _s,
      retryAfterCap: _r,
      circuitWindow: _c,
      ...more
    } = every;
    const { retention: _t, overdueAfter: _o, disableFailingAfter: _d, batchWindow: _b, ...rest } = more;
    const { logRetention: _l, alarmTopic: _m, ...same } = rest;
    expect(settingsOf(every)).toEqual(
      parseSettings({
        ...same,
        attemptTimeoutSeconds: 20,
        schedulerThreshold: 120,
        subscriptionCacheSeconds: 0,
        retryAfterCapSeconds: 7200,
        circuitWindowSeconds: 60,
        retentionDays: 40,
        overdueAfterSeconds: 60,
        disableFailingAfterDays: 0.5,
        batchWindowSeconds: 5,
        logRetentionDays: 7,
        alarmTopicArn: TOPIC,
      }),
    );
    expect([...Object.keys(every), 'staticAddresses'].toSorted()).toEqual(
      Object.values(propNames).toSorted(),
    );
  });

  it('are optional', () => {
    expect(settingsOf({ alarmTopic: undefined })).toEqual(parseSettings({}));
  });

  it.each<[problem: string, props: Record<string, unknown>]>([
    [
      'attemptTimeout (0) must be a whole number of seconds from 1 to 30',
      { attemptTimeout: Duration.seconds(0) },
    ],
    ['retention (1.5) must be a whole number of days from 15 to 3650', { retention: Duration.hours(36) }],
    ['attemptTimeout (15) must be a Duration', { attemptTimeout: 15 }],
    ['logRetention (9999) must be one of 1, 3, 5', { logRetention: RetentionDays.INFINITE }],
    ["logLevel ('loud') must be one of debug, info, warn, error", { logLevel: 'loud' }],
    ["payloadSources.0.bucket ('A') must be the name of", { payloadSources: [{ bucket: 'A' }] }],
    [
      'payloadSources.0.bucket (<ref *1> Construct {',
      { payloadSources: [{ bucket: new Construct(new App(), 'C') }] },
    ],
    ['defaultRetryPolicy.maximum_delay (', { defaultRetryPolicy: { minimum_delay: 9, maximum_delay: 5 } }],
    ["vpc.vpcId ('default') must be the id of a VPC", { vpc: { ...ids, vpcId: 'default' } }],
    ['vpc.subnetIds ([]) must be 1 to 16 ids of subnets', { vpc: { ...ids, subnetIds: [] } }],
    ['staticAddresses creates a separate VPC', { vpc: ids, staticAddresses: 1 }],
    ['vpcSubnets has an effect only with vpc', { vpcSubnets: {} }],
    ['messagesPerBatch over 10 needs batchWindow over 0', { messagesPerBatch: 11 }],
    [`alarmTopic ('${TOPIC}') must be an ITopic`, { alarmTopic: TOPIC }],
    ['alarmTopic (null) must be an ITopic', { alarmTopic: null }],
    ["deployment ('-constructor') must be", { deployment: '-constructor' }],
    [
      'alarmTopic must be a standard SNS topic, not a FIFO topic',
      { alarmTopic: new Topic(new Stack(), 'Topic', { fifo: true }) },
    ],
    [
      'retentionDays is not a property. The properties are: deployment, attemptTimeout,',
      { retentionDays: 30 },
    ],
  ])('are refused with the property, its value and the rule: %s', (problem, props) => {
    expect(problemsWith(props).map((text) => text.slice(0, problem.length))).toEqual([problem]);
  });

  it.each([
    ['deployment', Lazy.string({ produce: () => 'Shop' })],
    ['deliverConcurrency', Token.asNumber({ Ref: 'Concurrency' })],
    ['retention', Duration.days(Token.asNumber({ Ref: 'Days' }))],
    ['allowedAddresses', ['10.0.0.0/8', Token.asString({ Ref: 'Range' })]],
    ['payloadSources', [{ bucket: Token.asString({ Ref: 'Bucket' }) }]],
    ['ingressSenders', Token.asList({ Ref: 'Senders' })],
  ])('cannot be known at the deployment only: %s', (name, value) => {
    expect(problemsWith({ [name]: value })).toEqual([
      `${name} must be known at synthesis, but is or contains a token of CDK`,
    ]);
  });

  it('may be a VPC that CDK has not looked up yet', () => {
    const stack = new Stack(new App(), 'Shop', { env: { account: '123456789012', region: 'eu-west-1' } });
    const vpc = Vpc.fromLookup(stack, 'Vpc', { vpcName: 'shop' });
    expect(settingsOf({ vpc }).vpc).toMatchObject({ vpcId: 'vpc-12345', subnetIds: ['p-12345', 'p-67890'] });
  });

  it('are refused if the VPC has no subnets with a way to the internet', () => {
    const vpc = new Vpc(new Stack(), 'Vpc', { natGateways: 0 });
    expect(problemsWith({ vpc })).toEqual([
      expect.stringMatching(/^vpc There are no 'Private' subnet groups/),
    ]);
  });
});

describe('the context key posthaste', () => {
  it('overrides properties, and null stands for "not set"', () => {
    const { jwtScopes: scopes, ...settings } = settingsOf(every, {
      apiAuthorization: 'none',
      jwtIssuer: null,
      jwtAudience: null,
      jwtScopes: null,
      jwtQueuesClaim: null,
      attemptTimeoutSeconds: '7',
    });
    expect(scopes).toBeUndefined();
    expect(settings).toMatchObject({
      apiAuthorization: { kind: 'none' },
      attemptTimeoutSeconds: 7,
      retentionDays: 40,
    });
  });

  it('may be JSON, as the command line gives it', () => {
    expect(settingsOf({}, '{"retentionDays": 50}').retentionDays).toBe(50);
    expect(problemsWith({}, 'retentionDays=50')).toEqual([
      'the context key posthaste must be a JSON object of settings',
    ]);
  });

  it('names settings in errors, not properties', () => {
    expect(problemsWith({ retention: Duration.days(1) }, { attemptTimeoutSeconds: 0 })).toEqual([
      'attemptTimeoutSeconds (0) must be a whole number of seconds from 1 to 30',
      'retention (1) must be a whole number of days from 15 to 3650',
    ]);
    expect(problemsWith({}, { attemptTimeout: 5 })).toEqual([
      expect.stringMatching(/^attemptTimeout is not a setting.* attemptTimeoutSeconds,/),
    ]);
  });
});
