import { readFileSync } from 'node:fs';
import { App, Duration, Lazy, Stack, Token } from 'aws-cdk-lib';
import { SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { describe, expect, it } from 'vitest';
import type { PosthasteProps } from '../../infra/posthaste-props.ts';
import { propsFile, propsText, settingsFile, settingsPage } from '../../infra/settings-docs.ts';
import { propNames, settingsFromProps } from '../../infra/settings-from-props.ts';
import { parseSettings, SettingsError, settingsInContext } from '../../infra/settings.ts';
import { MEMORY_MEGABYTES } from '../../shared/config/rules.ts';
import { RETRY_POLICY_PRESETS } from '../../shared/domain/retry/policy.ts';

const problemsIn = (parse: () => unknown): readonly string[] => {
  try {
    parse();
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
};
const problemsWith = (given: Record<string, unknown>) => problemsIn(() => parseSettings(given));

describe('settings', () => {
  it('can be text on the command line or values in cdk.json', () => {
    const values = {
      local: true,
      subscriptionConfirmation: true,
      attemptTimeoutSeconds: 20,
      disableFailingAfterDays: 0.5,
      defaultRetryPolicy: { minimum_delay: 1 },
      allowedAddresses: ['10.0.0.0/8', 'fd00::/8'],
      ingressRoutes: { 'my.shop': 'orders' },
      logRetentionDays: 7,
      logLevel: 'debug',
      logSuccessSampling: 0.25,
    };
    const text = Object.entries(values).map(([name, value]): [string, string] => [
      name,
      Array.isArray(value)
        ? value.join(', ')
        : typeof value === 'object'
          ? JSON.stringify(value)
          : String(value),
    ]);
    expect(parseSettings(Object.fromEntries(text))).toEqual(parseSettings(values));
  });

  it.each(['https://hooks.example', 'https://hooks.example/a/b', 'http://{host}/apis/{apiId}/$default'])(
    'accept %s as the public URL of the API',
    (publicApiUrl) => {
      expect(parseSettings({ publicApiUrl }).publicApiUrl).toBe(publicApiUrl);
    },
  );

  it.each([
    ['attemptTimeoutSeconds', '0'],
    ['attemptTimeoutSeconds', 31],
    ['attemptTimeoutSeconds', 'soon'],
    ['schedulerThreshold', 901],
    ['retentionDays', '14'],
    ['firstAttemptsPerJob', '26'],
    ['messagesPerBatch', 0],
    ['batchWindowSeconds', 61],
    ['dispatchConcurrency', 1],
    ['deliverConcurrency', 1001],
    ['retryConcurrency', true],
    ['local', 'yes'],
    ['subscriptionConfirmation', 'yes'],
    ['publicApiUrl', 'hooks.example'],
    ['publicApiUrl', 'https://hooks.example/'],
    ['publicApiUrl', 'https://hooks.example?a=b'],
    ['publicApiUrl', 'https://{domain}'],
    ['publicApiUrl', `https://hooks.example/${'x'.repeat(200)}`],
    ['retainMessages', 'some'],
    ['eventValidation', 'some'],
    ['apiRateLimit', 0],
    ['apiAuthorization', 'basic'],
    ['allowedAddresses', '10.0.0.0'],
    ['allowedPorts', '443,65536'],
    ['allowedPorts', '9000-8000'],
    ['allowedPorts', true],
    ['allowedPorts', ''],
    ['allowedPorts', Array.from({ length: 21 }, (_, port) => port + 1)],
    ['ingressRoutes', '{"my.shop": "not a queue"}'],
    ['ingressRoutes', '{"arn:aws:sns:us-east-1:123456789012:shop": []}'],
    ['jwtScopes', { read: 'r', publish: 'p', manage: 'm' }],
    ['jwtQueuesClaim', 'a b'],
    ['payloadSources', '[{"prefix": "a/"}]'],
    ['payloadSources', [{ bucket: 'arn:aws:s3:::producer' }]],
    ['payloadSources', [{ bucket: 'producer', prefix: 'a*/' }]],
    ['payloadSources', [{ bucket: 'producer', prefix: '${aws:username}' }]],
    ['payloadSources', [{ bucket: 'producer', owner: 'me' }]],
    ['payloadSources', [{ bucket: 'producer', keyArn: 'alias/aws/s3' }]],
    ['payloadSources', Array.from({ length: 11 }, (_, n) => ({ bucket: `producer-${n}` }))],
    ['payloadSources', [1, 2, 3].map((n) => ({ bucket: 'producer', prefix: `${n}`.repeat(199) + '/' }))],
    ['ingressSenders', 'arn:aws:sns:eu-central-1:111122223333:orders-*'],
    ['ingressSenders', ['arn:aws:s3:::producer']],
    ['staticAddresses', 3],
    ['canaryMinutes', 7],
    ['zoneIds', 'use1-az1'],
    ['zoneIds', ['us-east-1a', 'use1-az2']],
    ['warmWritesPerSecond', 4_000],
    ['multiRegionKey', 'everywhere'],
    ['vpc', 'vpc-0123456789abcdef0'],
    ['vpc', { vpcId: 'vpc-0123456789abcdef0', subnetIds: ['private'] }],
    ['vpc', { vpcId: 'default', subnetIds: ['subnet-0123456789abcdef0'] }],
    ['logRetentionDays', 10],
    ['tracing', 'sometimes'],
    ['alarmTopicArn', 'arn:aws:sqs:us-east-1:123456789012:on-call'],
    ['alarmTopicArn', 'arn:aws:sns:us-east-1:123456789012:on-call.fifo'],
    ['logLevel', 'loud'],
    ['logSuccessSampling', 1.01],
    ['deployment', '1st'],
    ['disableFailingAfterDays', '366'],
    ['retryAfterCapSeconds', 86_401],
    ['overdueAfterSeconds', 4],
    ['defaultRetryPolicy', 'fast'],
    ['memoryMegabytes', 512],
    ['memoryMegabytes', { worker: 512 }],
    ['memoryMegabytes', { deliver: 127 }],
    ['memoryMegabytes', { deliver: 10_241 }],
    ['memoryMegabytes', '{"deliver": 384.5}'],
  ])('%s cannot be %j, and the error names the key', (key, value) => {
    const problems = problemsWith({ [key]: value });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^${key}\\b`));
  });

  it.each([
    ['attemptTimeoutSeconds', 1],
    ['attemptTimeoutSeconds', 30],
    ['schedulerThreshold', 0],
    ['schedulerThreshold', 900],
    ['retentionDays', 15],
    ['retryConcurrency', 2],
    ['retryConcurrency', 1000],
    ['logSuccessSampling', 0],
    ['logLevel', 'error'],
  ])('%s can be %j', (key, value) => {
    expect(parseSettings({ [key]: value })).toMatchObject({ [key]: value });
  });

  it('give each function its memory, dispatch more with payload sources, and yield to what is given', () => {
    const memory = (given: Record<string, unknown>) => parseSettings(given).memoryMegabytes;
    expect(memory({})).toEqual(MEMORY_MEGABYTES);
    const payloadSources = [{ bucket: 'producer' }];
    expect(memory({ payloadSources })).toEqual({ ...MEMORY_MEGABYTES, dispatch: 1024 });
    const memoryMegabytes = '{"dispatch": 768, "deliver": 10240, "api": 128}';
    const given = { ...MEMORY_MEGABYTES, dispatch: 768, deliver: 10_240, api: 128 };
    expect(memory({ payloadSources, memoryMegabytes })).toEqual(given);
    expect(memory({ memoryMegabytes: { deliver: undefined } })).toEqual(MEMORY_MEGABYTES);
  });

  it('can name a preset as the default retry policy', () => {
    expect(parseSettings({ defaultRetryPolicy: 'patient' }).defaultRetryPolicy).toEqual(
      RETRY_POLICY_PRESETS.patient,
    );
    expect(problemsWith({ defaultRetryPolicy: 'patiant' })).toEqual([
      `defaultRetryPolicy ('patiant') must be an object or the name of a preset. There is no preset patiant. ` +
        'Presets: quick, default, standard-webhooks, patient',
    ]);
  });

  it('cannot combine an existing VPC with static addresses', () => {
    const vpc = { vpcId: 'vpc-0123456789abcdef0', subnetIds: ['subnet-0123456789abcdef0'] };
    expect(parseSettings({ vpc: JSON.stringify(vpc) }).vpc).toEqual(vpc);
    expect(problemsWith({ vpc, staticAddresses: 1 })).toEqual([expect.stringMatching(/^staticAddresses /)]);
  });

  it('are refused if an invocation would make more requests at once than it has connections', () => {
    const settings = { batchWindowSeconds: 1, firstAttemptsPerJob: 10 };
    expect(problemsWith({ ...settings, firstAttemptsPerJob: 1, messagesPerBatch: 101 })[0]).toMatch(
      /^messagesPerBatch \(101\) must be a whole number/,
    );
    expect(parseSettings({ ...settings, messagesPerBatch: 50 })).toMatchObject({ messagesPerBatch: 50 });
    expect(problemsWith({ ...settings, messagesPerBatch: 51 })[0]).toMatch(
      /^firstAttemptsPerJob × messagesPerBatch is 510, but must be at most 500/,
    );
  });

  it('report all mistakes at once', () => {
    expect(problemsWith({ attemptTimeoutSeconds: 99, retentionDays: 1 })).toHaveLength(2);
  });

  it('are refused if they are too long for the environment of a function', () => {
    const routes = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`source-${n}`, 'orders']));
    expect(problemsWith({ ingressRoutes: routes })[0]).toMatch(/^ingressRoutes must be at most/);
    const ranges = Array.from({ length: 100 }, (_, n) => `10.${n}.0.0/16`);
    expect(problemsWith({ allowedAddresses: ranges })[0]).toMatch(/^allowedAddresses must be at most/);
  });

  it('allow subscribers on loopback only with `local`', () => {
    const allowedAddresses = '10.0.0.0/8';
    const given = ['10.0.0.0/8'];
    expect(parseSettings({ allowedAddresses }).allowedAddresses).toEqual(given);
    const local = parseSettings({ allowedAddresses, local: true }).allowedAddresses;
    expect(local).toEqual([...given, '127.0.0.0/8', '::1/128']);
  });
});

describe('the authorisation of the API', () => {
  it('is IAM by default, also with `local`', () => {
    expect(parseSettings({ local: true }).apiAuthorization).toEqual({ kind: 'iam' });
  });

  it('can be none only with `local`', () => {
    const given = { apiAuthorization: 'none' };
    expect(problemsWith(given)).toEqual(['apiAuthorization can be none only with local=true']);
    expect(parseSettings({ ...given, local: true }).apiAuthorization).toEqual({ kind: 'none' });
  });

  it('by tokens requires an issuer and audiences, and contains them', () => {
    const given = { apiAuthorization: 'jwt' };
    expect(problemsWith(given).map((problem) => problem.split(' ')[0])).toEqual(['jwtIssuer', 'jwtAudience']);
    const issuer = 'https://id.example.com';
    expect(parseSettings({ ...given, jwtIssuer: issuer, jwtAudience: 'a,b' }).apiAuthorization).toEqual({
      kind: 'jwt',
      issuer,
      audience: ['a', 'b'],
    });
  });

  it('takes an audience that is a number, as some issuers name their clients', () => {
    const given = { apiAuthorization: 'jwt', jwtIssuer: 'https://id.example.com' };
    const { apiAuthorization } = parseSettings({ ...given, jwtAudience: '407408718192000013' });
    expect(apiAuthorization).toMatchObject({ audience: ['407408718192000013'] });
  });

  it('refuses settings for tokens if it is IAM', () => {
    expect(problemsWith({ jwtIssuer: 'https://id.example.com' })[0]).toMatch(/^jwtIssuer /);
    expect(problemsWith({ jwtQueuesClaim: 'queues' })[0]).toMatch(/^jwtQueuesClaim /);
  });
});

it('the allowed ports of subscribers can be single ports and ranges, as numbers and as text', () => {
  expect(parseSettings({}).allowedPorts).toEqual([]);
  for (const allowedPorts of ['443', 443])
    expect(parseSettings({ allowedPorts }).allowedPorts).toEqual(['443']);
  for (const allowedPorts of ['443, 8000-9000', '[443, "8000-9000"]', [443, '8000-9000']])
    expect(parseSettings({ allowedPorts }).allowedPorts).toEqual(['443', '8000-9000']);
});

it('docs/settings.md is up to date (npm run docs:settings)', async () => {
  expect(readFileSync(settingsFile, 'utf8')).toBe(await settingsPage());
});

describe('settings from the context of an app', () => {
  it('are separated from the keys of CDK', () => {
    const ofCdk = { '@aws-cdk/core:flag': true, 'aws:cdk:x': 1, 'cli-telemetry': false };
    expect(settingsInContext({ ...ofCdk, retentionDays: '20' })).toEqual({ retentionDays: '20' });
  });

  it('yield to those in the key posthaste, an object or JSON', () => {
    const rest = { retentionDays: '20', local: 'true' };
    const merged = { retentionDays: 40, local: 'true' };
    expect(settingsInContext({ ...rest, posthaste: { retentionDays: 40 } })).toEqual(merged);
    expect(settingsInContext({ ...rest, posthaste: '{"retentionDays": 40}' })).toEqual(merged);
  });

  it.each(['retentionDays=40', 7, ['local']])('cannot be %j in the key posthaste', (posthaste) => {
    expect(() => settingsInContext({ posthaste })).toThrow(/posthaste must be a JSON object of settings/);
  });

  it('are refused when misspelt, with the key and all settings in the error', () => {
    expect(() => parseSettings(settingsInContext({ retentiondays: '20' }))).toThrow(
      /retentiondays is not a setting.*retentionDays/,
    );
  });
});

const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:on-call';
const jwtScopes = { read: 'r', publish: 'p', manage: 'm', credentials: 'c' };
const ids = { vpcId: 'vpc-0123456789abcdef0', subnetIds: ['subnet-0123456789abcdef0'] };

const settingsOf = (props: PosthasteProps, posthaste?: unknown) =>
  settingsFromProps(new App({ context: { posthaste } }), props);

const problemsWithProps = (props: Record<string, unknown>, posthaste?: unknown) =>
  problemsIn(() => settingsOf(props, posthaste));

/** Properties that have the value of their setting. */
const sameAsSettings = {
  deployment: 'Shop',
  defaultRetryPolicy: { minimum_delay: 2 },
  adaptToThrottling: true,
  holdWhileDown: true,
  backPressure: true,
  circuitRequests: 20,
  circuitFailurePercent: 80,
  retryThrottled: true,
  retainMessages: 'all',
  eventValidation: 'warn',
  queueStatistics: false,
  attemptEvents: true,
  firstAttemptsPerJob: 5,
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
  portal: true,
  portalTitle: 'Acme webhooks',
  portalAccent: '#0a6cff',
  portalFrameAncestors: ['https://app.example.com'],
  portalMaxEndpoints: 3,
  portalHosts: ['*.example.com'],
  portalMaxPerSecond: 5,
  compute: 'both',
  dispatchConcurrency: 2,
  deliverConcurrency: 3,
  retryConcurrency: 4,
  messagesPerBatch: 20,
  memoryMegabytes: { dispatch: 256, deliver: 384, reconcile: 128, operate: 640, api: 512, secrets: 1024 },
  apiRateLimit: 9,
  apiConcurrency: 10,
  apiAuthorization: 'jwt',
  jwtIssuer: 'https://id.example.com',
  jwtAudience: ['posthaste'],
  ingressSenders: [TOPIC],
  payloadSources: [{ bucket: 'producer', prefix: 'events/' }],
  vpc: ids,
  multiRegionKey: true,
  warmWritesPerSecond: 10_000,
  userAgentContact: 'hooks@example.com',
  runbookUrl: 'https://runbooks.example.com/posthaste',
  tracing: true,
} satisfies Partial<PosthasteProps>;

/** Each property with a value, except those that exclude another. */
const every: Required<Omit<PosthasteProps, 'vpcSubnets' | 'staticAddresses' | 'zoneIds'>> = {
  ...sameAsSettings,
  canary: Duration.minutes(10),
  attemptTimeout: Duration.seconds(20),
  schedulerThreshold: Duration.minutes(2),
  subscriptionCache: Duration.seconds(0),
  retryAfterCap: Duration.hours(2),
  circuitWindow: Duration.minutes(1),
  retention: Duration.days(40),
  archive: Duration.days(3),
  overdueAfter: Duration.minutes(1),
  disableFailingAfter: Duration.hours(12),
  batchWindow: Duration.seconds(5),
  logRetention: RetentionDays.ONE_WEEK,
  alarmTopic: Topic.fromTopicArn(new Stack(), 'Topic', TOPIC),
};

describe('the properties of the constructs', () => {
  it('are declared in infra/posthaste-props.ts as the rows say (npm run docs:settings)', async () => {
    expect(readFileSync(propsFile, 'utf8')).toBe(await propsText());
  });

  it('stand for all settings, in the units of the settings', () => {
    const inUnits = {
      canaryMinutes: 10,
      attemptTimeoutSeconds: 20,
      schedulerThreshold: 120,
      subscriptionCacheSeconds: 0,
      retryAfterCapSeconds: 7200,
      circuitWindowSeconds: 60,
      retentionDays: 40,
      archiveDays: 3,
      overdueAfterSeconds: 60,
      disableFailingAfterDays: 0.5,
      batchWindowSeconds: 5,
      logRetentionDays: 7,
      alarmTopicArn: TOPIC,
    };
    expect(settingsOf(every)).toEqual(parseSettings({ ...sameAsSettings, ...inUnits }));
    expect([...Object.keys(every), 'staticAddresses', 'zoneIds'].toSorted()).toEqual(
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
    ['zoneIds has an effect only with staticAddresses', { zoneIds: ['use1-az1', 'use1-az2'] }],
    ['zoneIds must be two different zones', { staticAddresses: 1, zoneIds: ['use1-az1', 'use1-az1'] }],
    ['canary (7) must be one of 0, 5, 10, 15, 30 minutes', { canary: Duration.minutes(7) }],
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
    expect(problemsWithProps(props).map((text) => text.slice(0, problem.length))).toEqual([problem]);
  });

  it.each([
    ['deployment', Lazy.string({ produce: () => 'Shop' })],
    ['deliverConcurrency', Token.asNumber({ Ref: 'Concurrency' })],
    ['retention', Duration.days(Token.asNumber({ Ref: 'Days' }))],
    ['allowedAddresses', ['10.0.0.0/8', Token.asString({ Ref: 'Range' })]],
    ['payloadSources', [{ bucket: Token.asString({ Ref: 'Bucket' }) }]],
    ['ingressSenders', Token.asList({ Ref: 'Senders' })],
  ])('cannot be known at the deployment only: %s', (name, value) => {
    expect(problemsWithProps({ [name]: value })).toEqual([
      `${name} must be known at synthesis, but is or contains a token of CDK`,
    ]);
  });

  it('may be a VPC that CDK has not looked up yet', () => {
    const stack = new Stack(new App(), 'Shop', { env: { account: '123456789012', region: 'eu-west-1' } });
    const vpc = Vpc.fromLookup(stack, 'Vpc', { vpcName: 'shop' });
    expect(settingsOf({ vpc }).vpc).toMatchObject({ vpcId: 'vpc-12345', subnetIds: ['p-12345', 'p-67890'] });
  });

  it('are refused if requests would be sent from public subnets, from which a function reaches nothing', () => {
    const vpc = new Vpc(new Stack(), 'Vpc');
    expect(problemsWithProps({ vpc, vpcSubnets: { subnetType: SubnetType.PUBLIC } })).toEqual([
      'vpc must be used by private subnets: from public vpcSubnets a function reaches nothing',
    ]);
  });

  it('are refused if the VPC has no subnets with a way to the internet', () => {
    const vpc = new Vpc(new Stack(), 'Vpc', { natGateways: 0 });
    expect(problemsWithProps({ vpc })).toEqual([
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
      archiveDays: 3,
    });
  });

  it('may be JSON, as the command line gives it', () => {
    expect(settingsOf({}, '{"retentionDays": 50}').retentionDays).toBe(50);
    expect(problemsWithProps({}, 'retentionDays=50')).toEqual([
      'the context key posthaste must be a JSON object of settings',
    ]);
  });

  it('names settings in errors, not properties', () => {
    expect(problemsWithProps({ retention: Duration.days(1) }, { attemptTimeoutSeconds: 0 })).toEqual([
      'attemptTimeoutSeconds (0) must be a whole number of seconds from 1 to 30',
      'retention (1) must be a whole number of days from 15 to 3650',
    ]);
    expect(problemsWithProps({}, { attemptTimeout: 5 })).toEqual([
      expect.stringMatching(/^attemptTimeout is not a setting.* attemptTimeoutSeconds,/),
    ]);
  });
});
