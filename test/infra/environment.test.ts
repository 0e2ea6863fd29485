import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import {
  apiEnvironment,
  deliverEnvironment,
  dispatchEnvironment,
  operateEnvironment,
  reconcileEnvironment,
} from '../../shared/config/environment.ts';
import { variables } from '../../shared/config/resources.ts';
import type { Variable } from '../../shared/config/rules.ts';
import { functionSettings } from '../../shared/config/settings.ts';
import { resourceAt, templatesFor } from './templates.ts';

const { pipeline } = templatesFor();
const { pipeline: onLaptop } = templatesFor({ local: true, apiAuthorization: 'none' });

const functions = ['Dispatch', 'Deliver', 'Reconcile', 'Operate', 'Api'].map((name) => ({ name }));

const environmentOf = (name: string, template = pipeline): Record<string, unknown> =>
  z
    .object({ Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }) })
    .parse(resourceAt(template, 'AWS::Lambda::Function', `Pipeline${name}Function`).Properties).Environment
    .Variables;

/** Absent where the setting is not given. */
const optional = new Set([variables.publicApiUrl, variables.jwtScopes, variables.jwtQueuesClaim]);

const everywhere = [variables.version];

describe('settings that are too long together for the environment of a function', () => {
  it('are refused before anything is deployed, with the variables that take most', () => {
    const allowedAddresses = Array.from({ length: 20 }, (_, at) => `2001:db8:${100 + at}::/48`);
    const retry_on_status = Array.from({ length: 89 }, (_, at) => 411 + at);
    expect(() => templatesFor({ allowedAddresses, defaultRetryPolicy: { retry_on_status } })).toThrow(
      /environment of the function api: \d+ bytes of 4096, of which QUEUE_URLS \d+, DEFAULT_RETRY_POLICY \d+/,
    );
  });
});

describe('the environment', () => {
  it.each(functions)('of $name says which deployment and version it is', ({ name }) => {
    expect(environmentOf(name)).toMatchObject({
      DEPLOYMENT: 'Posthaste',
      POSTHASTE_VERSION: packageJson.version,
    });
  });

  it.each([
    {
      name: 'Dispatch',
      names: [
        variables.subscriptionsTable,
        variables.deliveriesTable,
        variables.payloadBucket,
        variables.ingressQueueUrl,
        variables.ingressDeadLetterUrl,
        variables.deliveryQueueUrl,
        variables.payloadSources,
      ],
    },
    {
      name: 'Deliver',
      names: [
        'UV_THREADPOOL_SIZE',
        variables.subscriptionsTable,
        variables.deliveriesTable,
        variables.payloadBucket,
        variables.secretsKeyArn,
        variables.deliveryQueueUrl,
        variables.retryQueueUrl,
        variables.deliveryDeadLetterUrl,
        variables.undeliverableQueueUrl,
        variables.operatorEventBus,
        variables.scheduleGroup,
        variables.schedulerRoleArn,
        variables.schedulerDeadLetterArn,
        variables.userAgent,
      ],
    },
    {
      name: 'Reconcile',
      names: [variables.deliveriesTable, variables.retryQueueUrl],
    },
    {
      name: 'Operate',
      names: [
        variables.subscriptionsTable,
        variables.deliveriesTable,
        variables.payloadBucket,
        variables.retryQueueUrl,
        variables.scheduleGroup,
        variables.operationQueueUrl,
        variables.operationDeadLetterUrl,
      ],
    },
    {
      name: 'Api',
      names: [
        variables.subscriptionsTable,
        variables.deliveriesTable,
        variables.secretsKeyArn,
        variables.ingressQueueUrl,
        variables.operationQueueUrl,
        variables.operatorEventBus,
        variables.payloadBucket,
        variables.deliveryQueueUrl,
        variables.retryQueueUrl,
        variables.scheduleGroup,
        variables.queueUrls,
      ],
    },
  ])('of $name holds its settings, the resources that it needs, and nothing more', ({ name, names }) => {
    const rows: readonly Variable[] = Object.values(functionSettings);
    const given = rows
      .filter((row) => row.functions.some((one) => one === name.toLowerCase()) && !optional.has(row.variable))
      .map(({ variable }) => variable);
    expect(Object.keys(environmentOf(name)).toSorted()).toEqual(
      [...everywhere, ...given, ...names].toSorted(),
    );
  });

  it('has every variable that there is, in one function at least', () => {
    const { pipeline: template } = templatesFor({
      publicApiUrl: 'https://hooks.example.com',
      apiAuthorization: 'jwt',
      jwtIssuer: 'https://id.example.com',
      jwtAudience: 'posthaste',
      jwtScopes: { read: 'r', publish: 'p', manage: 'm', credentials: 'c' },
      jwtQueuesClaim: 'queues',
    });
    const set = new Set(functions.flatMap(({ name }) => Object.keys(environmentOf(name, template))));
    expect([...set].toSorted()).toEqual(['UV_THREADPOOL_SIZE', ...Object.values(variables)].toSorted());
  });

  it.each([
    { name: 'Dispatch', read: dispatchEnvironment },
    { name: 'Deliver', read: deliverEnvironment },
    { name: 'Reconcile', read: reconcileEnvironment },
    { name: 'Operate', read: operateEnvironment },
    { name: 'Api', read: apiEnvironment },
  ])('of $name is one that the function starts with', ({ name, read }) => {
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
    expect(read(Object.fromEntries(texts))).toMatchObject({ retentionDays: 3650 });
  });

  it('carries the settings', () => {
    const { pipeline: template } = templatesFor({
      deployment: 'Other',
      attemptTimeoutSeconds: 7,
      schedulerThreshold: 8,
      retentionDays: 16,
      defaultRetryPolicy: { backoff_retries: 2 },
      ingressRoutes: { 'my.shop': 'orders' },
      retainMessages: 'all',
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
    for (const { name } of functions)
      expect(environmentOf(name, template)).toMatchObject({ LOG_LEVEL: 'warn', LOG_SUCCESS_SAMPLING: '0.1' });
    expect(environmentOf('Dispatch', template)).toMatchObject({
      INGRESS_ROUTES: '{"my.shop":"orders"}',
      RETAIN_MESSAGES: 'all',
    });
  });

  it('lets subscribers be on loopback on a laptop only', () => {
    expect(environmentOf('Deliver')['ALLOWED_ADDRESSES']).toBe('[]');
    expect(environmentOf('Deliver', onLaptop)['ALLOWED_ADDRESSES']).toBe('["127.0.0.0/8","::1/128"]');
  });
});
