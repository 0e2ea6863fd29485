import { describe, expect, it } from 'vitest';
import {
  apiEnvironment,
  deliverEnvironment,
  dispatchEnvironment,
  EnvironmentError,
  reconcileEnvironment,
} from '../../../shared/config/environment.ts';
import { variables } from '../../../shared/config/variables.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry-policy.ts';

const QUEUE = 'https://sqs.us-east-1.amazonaws.com/000000000000/queue';

/** Every variable there is, as infra sets them. */
const complete: Record<string, string> = {
  [variables.deployment]: 'Posthaste',
  [variables.version]: '1.2.3',
  [variables.subscriptionsTable]: 'subscriptions',
  [variables.deliveriesTable]: 'deliveries',
  [variables.payloadBucket]: 'payloads',
  [variables.ingressQueueUrl]: `${QUEUE}-ingress`,
  [variables.ingressDeadLetterUrl]: `${QUEUE}-ingress-dead`,
  [variables.deliveryQueueUrl]: `${QUEUE}-delivery`,
  [variables.retryQueueUrl]: `${QUEUE}-retry`,
  [variables.retryQueueArn]: 'arn:retry',
  [variables.deliveryDeadLetterUrl]: `${QUEUE}-delivery-dead`,
  [variables.undeliverableQueueUrl]: `${QUEUE}-undeliverable`,
  [variables.scheduleGroup]: 'group',
  [variables.schedulerRoleArn]: 'arn:role',
  [variables.schedulerDeadLetterArn]: 'arn:dead',
  [variables.defaultRetryPolicy]: JSON.stringify(DEFAULT_RETRY_POLICY),
  [variables.attemptTimeoutSeconds]: '15',
  [variables.schedulerThresholdSeconds]: '90',
  [variables.subscriptionCacheSeconds]: '5',
  [variables.retentionDays]: '30',
  [variables.retainMessages]: 'failed',
  [variables.retryAfterCapSeconds]: '3600',
  [variables.overdueAfterSeconds]: '30',
  [variables.allowedAddresses]: '["127.0.0.0/8","::1/128"]',
  [variables.ingressRoutes]: '{"aws.ec2":"instances"}',
};

const problemsOf = (read: () => unknown): readonly string[] => {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof EnvironmentError) return error.problems;
    throw error;
  }
};

describe('the environment of a function', () => {
  it('is given typed: dispatch', () => {
    expect(dispatchEnvironment(complete)).toEqual({
      deployment: 'Posthaste',
      version: '1.2.3',
      subscriptionsTable: 'subscriptions',
      deliveriesTable: 'deliveries',
      payloadBucket: 'payloads',
      ingressDeadLetterUrl: `${QUEUE}-ingress-dead`,
      deliveryQueueUrl: `${QUEUE}-delivery`,
      subscriptionCacheSeconds: 5,
      retentionDays: 30,
      retryAfterCapSeconds: 3600,
      retainMessages: 'failed',
      ingressRoutes: { 'aws.ec2': 'instances' },
    });
  });

  it('is given typed: deliver', () => {
    expect(deliverEnvironment(complete)).toMatchObject({
      defaultRetryPolicy: DEFAULT_RETRY_POLICY,
      attemptTimeoutSeconds: 15,
      schedulerThresholdSeconds: 90,
      retryAfterCapSeconds: 3600,
      allowedAddresses: ['127.0.0.0/8', '::1/128'],
      retryQueueArn: 'arn:retry',
      scheduleGroup: 'group',
    });
  });

  it('is given typed: reconcile and the API', () => {
    expect(reconcileEnvironment(complete)).toMatchObject({
      overdueAfterSeconds: 30,
      retryQueueUrl: `${QUEUE}-retry`,
    });
    expect(apiEnvironment(complete)).toMatchObject({
      ingressQueueUrl: `${QUEUE}-ingress`,
    });
  });

  it('needs nothing that another function needs', () => {
    const some = { ...complete, [variables.scheduleGroup]: undefined, [variables.ingressRoutes]: undefined };
    expect(problemsOf(() => reconcileEnvironment(some))).toEqual([]);
    expect(problemsOf(() => apiEnvironment(some))).toEqual([]);
  });

  it('is what the process was started with', () => {
    expect(problemsOf(() => reconcileEnvironment())).toContain('RETRY_QUEUE_URL is missing');
  });

  it('names every variable that is wrong, and never a value', () => {
    const wrong = {
      ...complete,
      [variables.deliveryQueueUrl]: 'secret',
      [variables.retentionDays]: undefined,
    };
    const problems = problemsOf(() => deliverEnvironment(wrong));
    expect(problems.toSorted()).toEqual(['DELIVERY_QUEUE_URL is not a URL', 'RETENTION_DAYS is missing']);
  });

  it.each([
    [variables.attemptTimeoutSeconds, '31', 'ATTEMPT_TIMEOUT_SECONDS is over 30'],
    [variables.attemptTimeoutSeconds, '0', 'ATTEMPT_TIMEOUT_SECONDS is under 1'],
    [variables.attemptTimeoutSeconds, '1.5', 'ATTEMPT_TIMEOUT_SECONDS is not a whole number'],
    [variables.retentionDays, '14', 'RETENTION_DAYS is under 15'],
    [variables.retentionDays, '', 'RETENTION_DAYS is empty'],
    [variables.defaultRetryPolicy, '{', 'DEFAULT_RETRY_POLICY is not JSON'],
    [variables.allowedAddresses, '["localhost"]', 'ALLOWED_ADDRESSES.0 is not a CIDR range'],
  ])('refuses %s=%s', (name, value, problem) => {
    expect(problemsOf(() => deliverEnvironment({ ...complete, [name]: value }))).toContainEqual(
      expect.stringContaining(problem),
    );
  });

  it.each(Object.keys(DEFAULT_RETRY_POLICY))('refuses a default retry policy without %s', (field) => {
    const partial = JSON.stringify({ ...DEFAULT_RETRY_POLICY, [field]: undefined });
    const problems = problemsOf(() =>
      apiEnvironment({ ...complete, [variables.defaultRetryPolicy]: partial }),
    );
    expect(problems).toEqual([expect.stringMatching(`^DEFAULT_RETRY_POLICY\\.${field} `)]);
  });
});
