import { describe, expect, it } from 'vitest';
import { EnvironmentError, readEnvironment } from '../../../shared/config/environment.ts';
import { variables } from '../../../shared/config/resources.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { completeEnvironment as complete, QUEUE } from '../../support/complete-environment.ts';

const problemsOf = (read: () => unknown): readonly string[] => {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof EnvironmentError) return error.problems;
    throw error;
  }
};

/** What dispatch and operate have in common. */
const shared = {
  deployment: 'Posthaste',
  version: '1.2.3',
  logLevel: 'info',
  logSuccessSampling: 1,
  subscriptionsTable: 'subscriptions',
  deliveriesTable: 'deliveries',
  payloadBucket: 'payloads',
  retentionDays: 30,
  retryAfterCapSeconds: 3600,
  queueStatistics: true,
};

describe('the environment of a function', () => {
  it('is parsed for dispatch', () => {
    expect(readEnvironment('dispatch', complete)).toEqual({
      ...shared,
      ingressQueueUrl: `${QUEUE}-ingress`,
      ingressDeadLetterUrl: `${QUEUE}-ingress-dead`,
      deliveryQueueUrl: `${QUEUE}-delivery`,
      subscriptionCacheSeconds: 5,
      retainMessages: 'failed',
      eventValidation: 'off',
      firstAttemptsPerJob: 10,
      ingressRoutes: { 'aws.ec2': 'instances' },
      tracing: false,
      payloadSources: [{ bucket: 'producer', prefix: 'webhooks/', owner: '111122223333' }],
    });
  });

  it('is parsed for deliver', () => {
    expect(readEnvironment('deliver', complete)).toMatchObject({
      defaultRetryPolicy: DEFAULT_RETRY_POLICY,
      attemptTimeoutSeconds: 15,
      schedulerThreshold: 90,
      retryAfterCapSeconds: 3600,
      allowedAddresses: ['127.0.0.0/8', '::1/128'],
      allowedPorts: [],
      scheduleGroup: 'group',
      operatorEventBus: 'operator-events',
      disableFailingAfterDays: 0.5,
    });
  });

  it('is parsed for reconcile and the API', () => {
    expect(readEnvironment('reconcile', complete)).toMatchObject({
      overdueAfterSeconds: 30,
      retryQueueUrl: `${QUEUE}-retry`,
    });
    expect(readEnvironment('api', complete)).toMatchObject({
      queueUrls: { ingress: `${QUEUE}-ingress` },
      subscriptionConfirmation: false,
    });
  });

  it('is parsed for operate', () => {
    expect(readEnvironment('operate', complete)).toEqual({
      ...shared,
      retryQueueUrl: `${QUEUE}-retry`,
      scheduleGroup: 'group',
      operationQueueUrl: `${QUEUE}-operation`,
      operationDeadLetterUrl: `${QUEUE}-operation-dead`,
      operatorEventBus: 'operator-events',
    });
  });

  it('contains the host of the runtime API if Lambda sets it', () => {
    const onLambda = { ...complete, AWS_LAMBDA_RUNTIME_API: '127.0.0.1:9001' };
    for (const name of ['deliver', 'api'] as const) {
      expect(readEnvironment(name, onLambda)).toMatchObject({ runtimeApi: '127.0.0.1:9001' });
      expect(readEnvironment(name, complete).runtimeApi).toBeUndefined();
    }
  });

  it('contains the memory of deliver if Lambda sets it', () => {
    const onLambda = { ...complete, AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '384' };
    expect(readEnvironment('deliver', onLambda).memoryMegabytes).toBe(384);
    expect(readEnvironment('deliver', complete).memoryMegabytes).toBeUndefined();
  });

  it("does not require other functions' variables", () => {
    const some = {
      ...complete,
      [variables.schedulerRoleArn]: undefined,
      [variables.ingressRoutes]: undefined,
    };
    expect(problemsOf(() => readEnvironment('reconcile', some))).toEqual([]);
    expect(problemsOf(() => readEnvironment('api', some))).toEqual([]);
  });

  it('comes from process.env by default', () => {
    expect(problemsOf(() => readEnvironment('reconcile'))).toContain('RETRY_QUEUE_URL is missing');
  });

  it('reports every invalid variable without its value', () => {
    const wrong = {
      ...complete,
      [variables.deliveryQueueUrl]: 'secret',
      [variables.retentionDays]: undefined,
    };
    const problems = problemsOf(() => readEnvironment('deliver', wrong));
    expect(problems.toSorted()).toEqual(['DELIVERY_QUEUE_URL is not a URL', 'RETENTION_DAYS is missing']);
  });

  it.each([
    [variables.retentionDays, '14', 'RETENTION_DAYS must be a whole number of days from 15 to 3650'],
    [variables.retentionDays, '', 'RETENTION_DAYS is empty'],
    [variables.defaultRetryPolicy, '{', 'DEFAULT_RETRY_POLICY must be a JSON object'],
    [variables.allowedAddresses, '["localhost"]', 'ALLOWED_ADDRESSES.0 must be a CIDR range'],
    [variables.allowedPorts, '["https"]', 'ALLOWED_PORTS.0 must be a port, or a range'],
    [variables.allowedPorts, '[true]', 'ALLOWED_PORTS.0 '],
    ['AWS_LAMBDA_RUNTIME_API', 'not a host', 'AWS_LAMBDA_RUNTIME_API is not a host'],
  ])('refuses %s=%s', (name, value, problem) => {
    expect(problemsOf(() => readEnvironment('deliver', { ...complete, [name]: value }))).toContainEqual(
      expect.stringContaining(problem),
    );
  });

  it.each(Object.keys(DEFAULT_RETRY_POLICY))('refuses a default retry policy without %s', (field) => {
    const partial = JSON.stringify({ ...DEFAULT_RETRY_POLICY, [field]: undefined });
    const problems = problemsOf(() =>
      readEnvironment('api', { ...complete, [variables.defaultRetryPolicy]: partial }),
    );
    expect(problems).toEqual([expect.stringMatching(`^DEFAULT_RETRY_POLICY\\.${field} `)]);
  });
});
