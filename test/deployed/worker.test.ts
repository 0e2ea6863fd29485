import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { finishedDelivery } from '../support/api-client.ts';
import { metricsOf } from '../support/emitted-metrics.ts';
import { eventually } from '../support/eventually.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publishMany } from '../support/sqs-messages.ts';
import { subscribedQueue } from '../support/subscribed-queue.ts';
import { privateWorkerEnvironment, startWorker, type WorkerProcess } from '../support/worker-process.ts';
import { awsEnvironment, plainEnvironment, type RootKeys } from '../../local/local-aws.ts';
import { deployment } from '../support/deployment.ts';
import { userWith } from '../support/iam-user.ts';
import { posthaste, type Run } from '../unit/cli/run-command.ts';

const MESSAGES = 60;
/** Of each request, so that many are in flight at the stop. Milliseconds. */
const SLOW_MS = 300;

const receiver = await receiverOfTests();
let own: Awaited<ReturnType<typeof privateWorkerEnvironment>>;
const workers: WorkerProcess[] = [];

// Queues for each test: the emulator continues the long poll of a worker that has ended, and may give it a message.
beforeEach(async () => {
  own = await privateWorkerEnvironment();
});

afterEach(async () => {
  for (const worker of workers) worker.kill('SIGKILL');
  await Promise.all(workers.splice(0).map(({ ended }) => ended));
  await own.deleteQueues();
});

const start = (...args: string[]): WorkerProcess => {
  const worker = startWorker(own.variables, args);
  workers.push(worker);
  return worker;
};

describe('posthaste worker', () => {
  it('dispatches, delivers and retries as the functions do, says that it is ready, and emits their metrics', async () => {
    const { queue } = await subscribedQueue(receiver, {
      policy: { retries_with_no_delay: 0, minimum_delay: 1 },
      answers: [{ status: 503 }, { status: 200 }],
    });
    const worker = start();
    await eventually('a ready worker', async () => {
      const response = await fetch(`${worker.healthUrl() ?? 'http://127.0.0.1:1'}/ready`).catch(
        () => undefined,
      );
      return response?.status === 200 ? true : undefined;
    });
    await publishMany(queue, 1, { queueUrl: own.ingressQueueUrl });
    const { attempts, status } = await finishedDelivery(queue, 'm-0');
    expect({ status, outcomes: attempts.map(({ outcome }) => outcome) }).toEqual({
      status: 'delivered',
      outcomes: ['failed', 'delivered'],
    });
    worker.kill('SIGTERM');
    expect(await worker.ended).toBe(0);
    const counted = metricsOf(worker.stdout().split('\n')).map(({ name }) => name);
    expect(counted).toEqual(
      expect.arrayContaining([
        'MessagesAccepted',
        'AttemptsFailed',
        'AttemptsDelivered',
        'DeliveriesOverdue',
        'PollInterval',
      ]),
    );
  });

  it('stopped in mid-batch, finishes what is in flight; the next worker sends the rest, and nothing twice', async () => {
    const { queue, path } = await subscribedQueue(receiver, { answers: [{ delayMs: SLOW_MS }] });
    const first = start('--concurrency', '8');
    await publishMany(queue, MESSAGES, { queueUrl: own.ingressQueueUrl });
    await receiver.waitFor(path, 10);
    first.kill('SIGTERM');
    // As an orchestrator does, which replaces it.
    start();
    expect(await first.ended).toBe(0);
    expect(first.stderr()).not.toContain('not finished');
    await receiver.waitFor(path, MESSAGES);
    const ids = receiver.received(path).map(({ headers }) => headers['webhook-id']);
    expect(ids).toHaveLength(MESSAGES);
    expect(new Set(ids).size).toBe(MESSAGES);
  });
});

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

describe('posthaste worker without what it needs', () => {
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
