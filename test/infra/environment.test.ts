import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { product, productOf, userAgentOf } from '../../infra/product.ts';
import { parseSettings } from '../../infra/settings.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { readEnvironment } from '../../shared/config/environment.ts';
import { variables } from '../../shared/config/resources.ts';
import { everyFunction, type Variable } from '../../shared/config/rules.ts';
import { functionSettings } from '../../shared/config/settings.ts';
import { environmentAt, templatesFor, TOKENS } from './templates.ts';

const { pipeline } = templatesFor();

const functions = ['Dispatch', 'Deliver', 'Reconcile', 'Operate', 'Api', 'Secrets'];

const environmentOf = (name: string, template = pipeline): Record<string, unknown> =>
  environmentAt(template, `Pipeline${name}Function`);

/** Absent where the setting is not given. */
const optional = new Set([
  variables.publicApiUrl,
  variables.jwtScopes,
  variables.jwtQueuesClaim,
  variables.adaptToThrottling,
  variables.holdWhileDown,
]);

const everywhere = [variables.version];

/** The functions that know a resource. */
const readers: Record<string, string> = {
  [variables.subscriptionsTable]: 'Dispatch Deliver Reconcile Operate Api Secrets',
  [variables.deliveriesTable]: 'Dispatch Deliver Reconcile Operate Api Secrets',
  [variables.payloadBucket]: 'Dispatch Deliver Operate Api Secrets',
  [variables.secretsKeyArn]: 'Deliver Api Secrets',
  [variables.ingressQueueUrl]: 'Dispatch Api',
  [variables.ingressDeadLetterUrl]: 'Dispatch',
  [variables.deliveryQueueUrl]: 'Dispatch Deliver Api',
  [variables.deliveryDeadLetterUrl]: 'Deliver',
  [variables.retryQueueUrl]: 'Deliver Reconcile Operate Api',
  [variables.operationQueueUrl]: 'Deliver Operate Api',
  [variables.operationDeadLetterUrl]: 'Operate',
  [variables.undeliverableQueueUrl]: 'Deliver',
  [variables.queueUrls]: 'Api',
  [variables.operatorEventBus]: 'Deliver Api',
  [variables.scheduleGroup]: 'Deliver Operate Api',
  [variables.schedulerRoleArn]: 'Deliver',
  [variables.schedulerDeadLetterArn]: 'Deliver',
  [variables.payloadSources]: 'Dispatch',
  [variables.userAgent]: 'Deliver Api Secrets',
  UV_THREADPOOL_SIZE: 'Deliver',
};

describe('settings that are too large for the environment of a function', () => {
  it('are refused at synthesis, with the largest variables in the error', () => {
    const allowedAddresses = Array.from({ length: 20 }, (_, at) => `2001:db8:${100 + at}::/48`);
    const retry_on_status = Array.from({ length: 89 }, (_, at) => 411 + at);
    expect(() => templatesFor({ allowedAddresses, defaultRetryPolicy: { retry_on_status } })).toThrow(
      /environment of the function api: \d+ bytes of at most 4096. The largest are QUEUE_URLS \d+, DEFAULT_RETRY_POLICY \d+/,
    );
  });
});

describe('the output WorkerEnvironment', () => {
  it('is JSON of all variables of the functions that a worker stands in for, and of the region', () => {
    const { Value } = z
      .object({ Value: z.object({ 'Fn::Join': z.tuple([z.literal(''), z.array(z.unknown())]) }) })
      .parse(pipeline.findOutputs('WorkerEnvironment')['WorkerEnvironment']);
    const [, parts] = Value['Fn::Join'];
    const text = parts.map((part) => (typeof part === 'string' ? part : 'reference')).join('');
    const expected = ['Dispatch', 'Deliver', 'Reconcile', 'Operate'].flatMap((name) =>
      Object.keys(environmentOf(name)),
    );
    const found = Object.keys(z.record(z.string(), z.string()).parse(JSON.parse(text)));
    expect(found.toSorted()).toEqual([...new Set([...expected, 'AWS_REGION'])].toSorted());
  });
});

describe('the environment', () => {
  it.each(functions)('of %s contains the deployment and the version', (name) => {
    expect(environmentOf(name)).toMatchObject({
      DEPLOYMENT: 'Posthaste',
      POSTHASTE_VERSION: packageJson.version,
    });
  });

  it.each(functions)('of %s contains its settings and resources, and nothing else', (name) => {
    const settings: readonly Variable[] = Object.values(functionSettings);
    const given = settings
      .filter((row) => row.functions.some((one) => one === name.toLowerCase()) && !optional.has(row.variable))
      .map(({ variable }) => variable);
    const resources = Object.entries(readers).filter(([, names]) => names.split(' ').includes(name));
    expect(Object.keys(environmentOf(name)).toSorted()).toEqual(
      [...everywhere, ...given, ...resources.map(([variable]) => variable)].toSorted(),
    );
  });

  it('contains every variable in at least one function', () => {
    const { pipeline: template } = templatesFor({
      publicApiUrl: 'https://hooks.example.com',
      ...TOKENS,
      jwtScopes: { read: 'r', publish: 'p', manage: 'm', credentials: 'c' },
      jwtQueuesClaim: 'queues',
      adaptToThrottling: false,
      holdWhileDown: true,
    });
    const set = new Set(functions.flatMap((name) => Object.keys(environmentOf(name, template))));
    expect([...set].toSorted()).toEqual(['UV_THREADPOOL_SIZE', ...Object.values(variables)].toSorted());
  });

  it.each(everyFunction)('of %s is accepted by the function at start-up', (reader) => {
    const name = `${reader.charAt(0).toUpperCase()}${reader.slice(1)}`;
    const longest = Array.from({ length: 31 }, (_, n) => `10.${100 + n}.0.0/16`).join(',');
    const { pipeline: template } = templatesFor({
      local: true,
      allowedAddresses: longest,
      retentionDays: 3650,
    });
    const texts = Object.entries(environmentOf(name, template)).map(([key, value]): [string, string] => [
      key,
      typeof value === 'string' ? value : key === 'QUEUE_URLS' ? '{}' : 'https://example.com/a-reference',
    ]);
    expect(readEnvironment(reader, Object.fromEntries(texts))).toMatchObject({ retentionDays: 3650 });
  });

  it('contains the values of the settings', () => {
    const { pipeline: template } = templatesFor({
      deployment: 'Other',
      attemptTimeoutSeconds: 7,
      schedulerThreshold: 8,
      retentionDays: 16,
      defaultRetryPolicy: { backoff_retries: 2 },
      ingressRoutes: { 'my.shop': 'orders' },
      retainMessages: 'all',
      allowedPorts: '443, 8000-9000',
      logLevel: 'warn',
      logSuccessSampling: 0.1,
    });
    const deliver = environmentOf('Deliver', template);
    expect(deliver).toMatchObject({
      DEPLOYMENT: 'Other',
      ATTEMPT_TIMEOUT_SECONDS: '7',
      SCHEDULER_THRESHOLD_SECONDS: '8',
      RETENTION_DAYS: '16',
    });
    expect(JSON.parse(z.string().parse(deliver['DEFAULT_RETRY_POLICY']))).toMatchObject({
      retries_with_no_delay: 3,
      backoff_retries: 2,
    });
    for (const name of functions)
      expect(environmentOf(name, template)).toMatchObject({ LOG_LEVEL: 'warn', LOG_SUCCESS_SAMPLING: '0.1' });
    expect(environmentOf('Dispatch', template)).toMatchObject({
      INGRESS_ROUTES: '{"my.shop":"orders"}',
      RETAIN_MESSAGES: 'all',
    });
    for (const name of ['Deliver', 'Api']) {
      expect(environmentOf(name)['ALLOWED_PORTS']).toBe('[]');
      expect(environmentOf(name, template)['ALLOWED_PORTS']).toBe('["443","8000-9000"]');
    }
  });

  it('gives DNS lookups of deliver 64 threads: the default of 4 would delay a full batch of new connections', () => {
    expect(environmentOf('Deliver')['UV_THREADPOOL_SIZE']).toBe('64');
  });
});

const userAgent = (content: Record<string, unknown>): string =>
  userAgentOf(productOf({ version: '1.2.3', ...content }));

describe('the user agent of requests to subscribers', () => {
  const named = 'Posthaste/1.2.3 (+https://code.example/tools/posthaste)';

  it.each([
    { repository: 'https://code.example/tools/posthaste' },
    { repository: { type: 'git', url: 'git+https://code.example/tools/posthaste.git' } },
    { homepage: 'https://code.example/tools/posthaste' },
    { repository: 'git@code.example:tools/posthaste.git', homepage: 'https://code.example/tools/posthaste' },
  ])('contains the version and the page that package.json names: %j', (content) => {
    expect(userAgent(content)).toBe(named);
  });

  it.each(['github:tools/posthaste', 'tools/posthaste'])('expands the short form %s', (repository) => {
    expect(userAgent({ repository })).toBe('Posthaste/1.2.3 (+https://github.com/tools/posthaste)');
  });

  it.each([
    {},
    { repository: 'git@code.example:tools/posthaste.git' },
    { homepage: 'https://a.example/(b)' },
  ])('contains only the version if there is no usable page: %j', (content) => {
    expect(userAgent(content)).toBe('Posthaste/1.2.3');
  });

  it.each([
    ['https://hooks.example.com/about', 'Posthaste/1.2.3 (+https://hooks.example.com/about)'],
    ['hooks@example.com', 'Posthaste/1.2.3 (hooks@example.com)'],
  ])('contains the contact %s in place of the page', (contact, expected) => {
    const productWithPage = productOf({ version: '1.2.3', homepage: 'https://code.example/posthaste' });
    expect(userAgentOf(productWithPage, contact)).toBe(expected);
  });

  it.each([
    'hooks.example.com',
    'https://hooks.example.com/(us)',
    'us @example.com',
    'https://hooks.example.com\r\nx: y',
    `https://hooks.example.com/${'x'.repeat(200)}`,
  ])('refuses the contact %j', (userAgentContact) => {
    expect(() => parseSettings({ userAgentContact })).toThrow('userAgentContact');
  });

  it.each(['PipelineDeliverFunction', 'PipelineApiFunction'])('with its contact is passed to %s', (id) => {
    const { pipeline } = templatesFor({ userAgentContact: 'hooks@example.com' });
    expect(environmentAt(pipeline, id)['USER_AGENT']).toBe(userAgentOf(product, 'hooks@example.com'));
  });

  it('is passed to deliver', () => {
    expect(product.version).toBe(packageJson.version);
    expect(environmentOf('Deliver')['USER_AGENT']).toBe(userAgentOf(product));
  });
});
