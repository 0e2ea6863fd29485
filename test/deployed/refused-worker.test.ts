import { afterAll, describe, expect, it } from 'vitest';
import { awsEnvironment, plainEnvironment, type RootKeys } from '../../local/local-aws.ts';
import { deployment } from '../support/deployment.ts';
import { userWith } from '../support/iam-user.ts';
import { privateWorkerEnvironment } from '../support/worker-process.ts';
import { posthaste, type Run } from '../unit/cli/run-command.ts';

const own = await privateWorkerEnvironment();
afterAll(() => own.deleteQueues());

const run = (
  steps: string,
  { keys = deployment.client.credentials, env = {} }: { keys?: RootKeys; env?: Record<string, string> },
): Promise<Run> =>
  posthaste(['worker', '--steps', steps], {
    env: {
      ...plainEnvironment(),
      ...own.variables,
      ...awsEnvironment(deployment.client.endpoint, keys),
      ...env,
    },
  });

const userThatMayNot = (Action: string) =>
  userWith({ Effect: 'Allow', Action: '*', Resource: '*' }, { Effect: 'Deny', Action, Resource: '*' });

describe('posthaste worker', () => {
  it.each([
    ['deliver', 'sqs:ReceiveMessage', 'Receiving from the delivery queue'],
    ['deliver', 'dynamodb:GetItem', 'Reading the tables for deliver'],
    ['dispatch', 'dynamodb:Query', 'Reading the tables for dispatch'],
    ['reconcile', 'dynamodb:Query', 'Reading overdue deliveries'],
  ])('for %s does not start without %s, and names it', async (steps, action, what) => {
    const { status, stderr } = await run(steps, { keys: await userThatMayNot(action) });
    expect(status).toBe(2);
    for (const text of [`posthaste: ${what}: AccessDenied`, action, 'docs/worker.md#permissions'])
      expect(stderr).toContain(text);
  });

  it('does not start with keys that AWS does not know', async () => {
    const { status, stderr } = await run('deliver', {
      keys: { accessKeyId: 'wrong', secretAccessKey: 'wrong' },
    });
    expect(status).toBe(2);
    expect(stderr).toContain('posthaste: Reading the tables for deliver: UnrecognizedClientException: ');
  });

  it('does not start in a region without the tables', async () => {
    const { status, stderr } = await run('dispatch', { env: { AWS_REGION: 'eu-west-1' } });
    expect(status).toBe(2);
    expect(stderr).toContain('posthaste: Reading the tables for dispatch: ResourceNotFoundException: ');
    expect(stderr).toContain('Check the region');
  });

  it('does not start with a queue that is not there, and names it', async () => {
    const { status, stderr } = await run('dispatch', {
      env: { INGRESS_QUEUE_URL: `${own.ingressQueueUrl}-gone` },
    });
    expect(status).toBe(2);
    expect(stderr).toMatch(/^posthaste: Receiving from the ingress queue: /m);
  });
});
