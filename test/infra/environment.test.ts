import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { buildUserAgent, parseProduct, product } from '../../infra/product.ts';
import { parseSettings } from '../../infra/settings.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { readEnvironment } from '../../shared/config/environment.ts';
import { variables } from '../../shared/config/resources.ts';
import { everyFunction, type Variable } from '../../shared/config/rules.ts';
import { functionSettings } from '../../shared/config/settings.ts';
import { environmentAt, LOCAL, templatesFor, TUNED } from './templates.ts';

const { pipeline } = templatesFor();
const { pipeline: tuned } = templatesFor(TUNED);
const { pipeline: local } = templatesFor({ ...LOCAL, portal: true, allowedAddresses: '10.0.0.0/8' });

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
  variables.portalTitle,
  variables.portalAccent,
  variables.portalMaxEndpoints,
  variables.portalHosts,
  variables.portalMaxPerSecond,
]);

const everywhere = [variables.version];

const urlsOf = (...names: string[]) =>
  JSON.stringify(Object.fromEntries(names.map((name) => [name, `https://example.com/${name}`])));

/** The functions that know a resource. */
const readers: Record<string, string> = {
  [variables.subscriptionsTable]: 'Dispatch Deliver Reconcile Operate Api Secrets',
  [variables.deliveriesTable]: 'Dispatch Deliver Reconcile Operate Api Secrets',
  [variables.payloadBucket]: 'Dispatch Deliver Operate Api Secrets',
  [variables.secretsKeyArn]: 'Deliver Api Secrets',
  [variables.ingressQueueUrl]: 'Dispatch',
  [variables.ingressDeadLetterUrl]: 'Dispatch',
  [variables.deliveryQueueUrl]: 'Dispatch Deliver',
  [variables.deliveryDeadLetterUrl]: 'Deliver',
  [variables.retryQueueUrl]: 'Deliver Reconcile Operate',
  [variables.operationQueueUrl]: 'Deliver Operate',
  [variables.operationDeadLetterUrl]: 'Operate',
  [variables.undeliverableQueueUrl]: 'Deliver',
  [variables.queueUrls]: 'Api',
  [variables.operatorEventBus]: 'Deliver Operate Api',
  [variables.scheduleGroup]: 'Deliver Operate Api',
  [variables.schedulerRoleArn]: 'Deliver',
  [variables.schedulerDeadLetterArn]: 'Deliver',
  [variables.payloadSources]: 'Dispatch',
  [variables.userAgent]: 'Deliver Api Secrets',
  UV_THREADPOOL_SIZE: 'Deliver',
};

const allowedAddresses = Array.from({ length: 20 }, (_, at) => `2001:db8:${100 + at}::/48`);

// Before the environment of api, the largest, reaches the limit in a deployment that sets everything.
it('settings leave room for twenty address ranges where all are given', () => {
  expect(() => templatesFor({ ...TUNED, allowedAddresses })).not.toThrow();
});

it('settings too large for an environment are refused at synthesis, with the largest variables in the error', () => {
  const retry_on_status = Array.from({ length: 89 }, (_, at) => 411 + at);
  const defaultRetryPolicy = { retry_on_status };
  expect(() => templatesFor({ ...TUNED, allowedAddresses, defaultRetryPolicy })).toThrow(
    /environment of the function api: \d+ bytes of at most 4096. The largest are QUEUE_URLS \d+, DEFAULT_RETRY_POLICY \d+/,
  );
});

describe('the environment', () => {
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
    const set = new Set([...functions, 'Portal'].flatMap((name) => Object.keys(environmentOf(name, tuned))));
    expect([...set].toSorted()).toEqual(['UV_THREADPOOL_SIZE', ...Object.values(variables)].toSorted());
  });

  it.each(everyFunction)('of %s is accepted by the function at start-up', (reader) => {
    const name = `${reader.charAt(0).toUpperCase()}${reader.slice(1)}`;
    const texts = Object.entries(environmentOf(name, local)).map(([key, value]): [string, string] => [
      key,
      typeof value === 'string'
        ? value
        : key === 'QUEUE_URLS'
          ? urlsOf('ingress', 'delivery', 'retry', 'operation')
          : 'https://example.com/a-reference',
    ]);
    expect(readEnvironment(reader, Object.fromEntries(texts))).toMatchObject(
      reader === 'portal' ? { deployment: 'Posthaste' } : { retentionDays: 3650 },
    );
  });

  it('contains the values of the settings', () => {
    const policy: unknown = JSON.parse(
      z.string().parse(environmentOf('Deliver', tuned)['DEFAULT_RETRY_POLICY']),
    );
    expect(policy).toMatchObject({ retries_with_no_delay: 3, backoff_retries: 2 });
    expect(environmentOf('Deliver')['ALLOWED_PORTS']).toBe('[]');
    expect(environmentOf('Api', tuned)).toMatchObject({ ALLOWED_PORTS: '["443","8000-9000"]' });
    expect(environmentOf('Dispatch', tuned)).toMatchObject({
      INGRESS_ROUTES: '{"my.shop":"orders"}',
      RETAIN_MESSAGES: 'all',
    });
    expect(environmentOf('Deliver', tuned)).toMatchObject({
      DEPLOYMENT: 'Shop',
      POSTHASTE_VERSION: packageJson.version,
      ATTEMPT_TIMEOUT_SECONDS: '30',
      SCHEDULER_THRESHOLD_SECONDS: '8',
      RETENTION_DAYS: '20',
      ALLOWED_PORTS: '["443","8000-9000"]',
      LOG_LEVEL: 'warn',
      LOG_SUCCESS_SAMPLING: '0.1',
    });
  });

  it('gives DNS lookups of deliver 64 threads: the default of 4 would delay a full batch of new connections', () => {
    expect(environmentOf('Deliver')['UV_THREADPOOL_SIZE']).toBe('64');
  });
});

const userAgent = (content: Record<string, unknown>): string =>
  buildUserAgent(parseProduct({ version: '1.2.3', ...content }));

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
    const productWithPage = parseProduct({ version: '1.2.3', homepage: 'https://code.example/posthaste' });
    expect(buildUserAgent(productWithPage, contact)).toBe(expected);
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

  it.each(['Deliver', 'Api'])('is passed to %s, with the contact if there is one', (name) => {
    expect(product.version).toBe(packageJson.version);
    expect(environmentOf(name)['USER_AGENT']).toBe(buildUserAgent(product));
    expect(environmentOf(name, tuned)['USER_AGENT']).toBe(buildUserAgent(product, 'hooks@example.com'));
  });
});
