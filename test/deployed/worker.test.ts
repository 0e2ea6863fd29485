import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { finishedDelivery, putQueue, subscribe } from '../support/api-client.ts';
import { metricsOf } from '../support/emitted-metrics.ts';
import { eventually } from '../support/eventually.ts';
import { startReceiver } from '../support/receiver.ts';
import { sendTogether } from '../support/sqs-messages.ts';
import { privateWorkerEnvironment, startWorker, type WorkerProcess } from '../support/worker-process.ts';

const MESSAGES = 60;
/** Of each request, so that many are in flight at the stop. Milliseconds. */
const SLOW_MS = 300;

const receiver = await startReceiver();
afterAll(receiver.close);
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

const publishAll = async (queue: string, count: number): Promise<void> => {
  for (let from = 0; from < count; from += 10) {
    const ids = Array.from({ length: Math.min(10, count - from) }, (_, index) => `m-${from + index}`);
    await sendTogether(
      own.ingressQueueUrl,
      ids.map((id) => JSON.stringify({ queue, id, data: id })),
    );
  }
};

const requestsById = (path: string): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const { headers } of receiver.received(path)) {
    const id = String(headers['webhook-id']);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
};

describe('posthaste worker', () => {
  it('dispatches, delivers and retries as the functions do, says that it is ready, and emits their metrics', async () => {
    const queue = `worker-${randomUUID()}`;
    receiver.script(`/${queue}`, [{ status: 503 }, { status: 200 }]);
    await putQueue(queue, { retries_with_no_delay: 0, minimum_delay: 1 });
    await subscribe(queue, receiver.url(`/${queue}`));
    const worker = start();
    await eventually('a ready worker', async () => {
      const response = await fetch(`${worker.healthUrl() ?? 'http://127.0.0.1:1'}/ready`).catch(
        () => undefined,
      );
      return response?.status === 200 ? true : undefined;
    });
    await publishAll(queue, 1);
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
    const queue = `worker-${randomUUID()}`;
    const path = `/${queue}`;
    receiver.script(path, [{ delayMs: SLOW_MS }]);
    await putQueue(queue);
    await subscribe(queue, receiver.url(path));
    const first = start('--concurrency', '8');
    await publishAll(queue, MESSAGES);
    await receiver.waitFor(path, 10);
    first.kill('SIGTERM');
    // As an orchestrator does, which replaces it.
    start();
    expect(await first.ended).toBe(0);
    expect(first.stderr()).not.toContain('not finished');
    await receiver.waitFor(path, MESSAGES);
    const requests = requestsById(path);
    expect(requests.size).toBe(MESSAGES);
    expect([...requests.values()].every((count) => count === 1)).toBe(true);
  });
});
