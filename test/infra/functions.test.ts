import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { variables } from '../../shared/config/variables.ts';
import { arnOf, resourceAt, resourcesOf, templatesFor } from './templates.ts';

const FUNCTION = 'AWS::Lambda::Function';
const { pipeline } = templatesFor({ logRetentionDays: 7 });
const { pipeline: onLaptop } = templatesFor({ local: true, apiAuthorization: 'none' });

const functions = ['Dispatch', 'Deliver', 'Reconcile', 'Operate', 'Api'].map((name) => ({
  name,
  path: `Pipeline${name}`,
}));

const environmentOf = (name: string, template = pipeline): Record<string, unknown> =>
  z
    .object({ Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }) })
    .parse(resourceAt(template, FUNCTION, `Pipeline${name}Function`).Properties).Environment.Variables;

describe('each function', () => {
  it.each(functions)('$name runs Node 24 on arm64 with source maps', ({ name, path }) => {
    expect(resourceAt(pipeline, FUNCTION, `${path}Function`).Properties).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
    });
    expect(environmentOf(name)).toMatchObject({
      NODE_OPTIONS: '--enable-source-maps',
      DEPLOYMENT: 'Posthaste',
      POSTHASTE_VERSION: packageJson.version,
    });
  });

  it.each(functions)('$name logs to a group of its own, which forgets', ({ path }) => {
    const logGroup = resourceAt(pipeline, 'AWS::Logs::LogGroup', `${path}LogGroup`);
    expect(logGroup).toMatchObject({ DeletionPolicy: 'Retain', Properties: { RetentionInDays: 7 } });
    expect(resourceAt(onLaptop, 'AWS::Logs::LogGroup', `${path}LogGroup`).DeletionPolicy).toBe('Delete');
    expect(resourceAt(pipeline, FUNCTION, `${path}Function`).Properties['LoggingConfig']).toEqual({
      LogGroup: { Ref: logGroup.id },
    });
  });

  it.each(functions)('$name has a role of its own without managed policies', ({ path }) => {
    const role = resourceAt(pipeline, 'AWS::IAM::Role', `${path}Role`);
    expect(role.Properties).not.toHaveProperty('ManagedPolicyArns');
    expect(resourceAt(pipeline, FUNCTION, `${path}Function`).Properties['Role']).toEqual(arnOf(role.id));
  });

  it('is one of five: CDK adds none, on a laptop neither', () => {
    expect(resourcesOf(pipeline, FUNCTION).size).toBe(functions.length);
    expect(resourcesOf(onLaptop, FUNCTION).size).toBe(functions.length);
  });

  it('reserves no concurrency, which small accounts refuse', () => {
    for (const { Properties } of resourcesOf(pipeline, FUNCTION).values()) {
      expect(Properties).not.toHaveProperty('ReservedConcurrentExecutions');
    }
  });
});

describe('recursive loops', () => {
  it('are allowed to deliver and operate, whose work comes back to them, and to nobody else', () => {
    const allowed = [...resourcesOf(pipeline, FUNCTION)]
      .filter(([, { Properties }]) => Properties['RecursiveLoop'] === 'Allow')
      .map(([id]) => id);
    expect(allowed).toEqual(
      ['PipelineDeliverFunction', 'PipelineOperateFunction'].map(
        (path) => resourceAt(pipeline, FUNCTION, path).id,
      ),
    );
  });
});

const everywhere = ['NODE_OPTIONS', variables.deployment, variables.version];

describe('the environment', () => {
  it.each([
    {
      name: 'Dispatch',
      names: [
        variables.subscriptionsTable,
        variables.deliveriesTable,
        variables.payloadBucket,
        variables.ingressDeadLetterUrl,
        variables.deliveryQueueUrl,
        variables.subscriptionCacheSeconds,
        variables.retentionDays,
        variables.retainMessages,
        variables.retryAfterCapSeconds,
        variables.ingressRoutes,
      ],
    },
    {
      name: 'Deliver',
      names: [
        variables.subscriptionsTable,
        variables.deliveriesTable,
        variables.payloadBucket,
        variables.secretsKeyArn,
        variables.deliveryQueueUrl,
        variables.retryQueueUrl,
        variables.retryQueueArn,
        variables.deliveryDeadLetterUrl,
        variables.undeliverableQueueUrl,
        variables.operatorEventBus,
        variables.disableFailingAfterDays,
        variables.scheduleGroup,
        variables.schedulerRoleArn,
        variables.schedulerDeadLetterArn,
        variables.defaultRetryPolicy,
        variables.attemptTimeoutSeconds,
        variables.schedulerThresholdSeconds,
        variables.subscriptionCacheSeconds,
        variables.retentionDays,
        variables.retryAfterCapSeconds,
        variables.allowedAddresses,
      ],
    },
    {
      name: 'Reconcile',
      names: [
        variables.deliveriesTable,
        variables.retryQueueUrl,
        variables.retentionDays,
        variables.overdueAfterSeconds,
      ],
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
        variables.retentionDays,
        variables.retryAfterCapSeconds,
      ],
    },
    {
      name: 'Api',
      names: [
        variables.subscriptionsTable,
        variables.deliveriesTable,
        variables.secretsKeyArn,
        variables.ingressQueueUrl,
        variables.defaultRetryPolicy,
        variables.allowedAddresses,
        variables.operationQueueUrl,
        variables.operatorEventBus,
        variables.retentionDays,
        variables.retryAfterCapSeconds,
        variables.payloadBucket,
        variables.deliveryQueueUrl,
        variables.retryQueueUrl,
        variables.scheduleGroup,
        variables.queueUrls,
        variables.overdueAfterSeconds,
        variables.subscriptionConfirmation,
      ],
    },
  ])('of $name holds what it needs and nothing more', ({ name, names }) => {
    expect(Object.keys(environmentOf(name)).toSorted()).toEqual([...everywhere, ...names].toSorted());
  });

  it('has every variable that there is, in one function at least', () => {
    const { pipeline: template } = templatesFor({ publicApiUrl: 'https://hooks.example.com' });
    const set = new Set(functions.flatMap(({ name }) => Object.keys(environmentOf(name, template))));
    expect([...set].toSorted()).toEqual(['NODE_OPTIONS', ...Object.values(variables)].toSorted());
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

describe('reconcile', () => {
  const { id } = resourceAt(pipeline, FUNCTION, 'PipelineReconcileFunction');

  it('runs every minute, and a run that failed or is late is not repeated', () => {
    pipeline.hasResourceProperties('AWS::Events::Rule', {
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Targets: [{ Arn: arnOf(id), RetryPolicy: { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 } }],
    });
    pipeline.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
      FunctionName: { Ref: id },
      MaximumEventAgeInSeconds: 60,
      MaximumRetryAttempts: 0,
    });
  });

  it('is over when the next begins', () => {
    expect(resourceAt(pipeline, FUNCTION, 'PipelineReconcileFunction').Properties['Timeout']).toBe(60);
  });
});
