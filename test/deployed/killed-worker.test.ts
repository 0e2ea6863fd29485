import { afterAll, expect, it } from 'vitest';
import { allBooks } from '../support/all-books.ts';
import { answerOf } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startReceiver } from '../support/receiver.ts';
import { publishMany } from '../support/sqs-messages.ts';
import { subscribedQueue } from '../support/subscribed-queue.ts';
import { privateWorkerEnvironment, startWorker, type WorkerProcess } from '../support/worker-process.ts';

const MESSAGES = 200;
const KILLS = 3;
/** Of each worker: the most requests that a kill can repeat. */
const CONCURRENCY = 10;

/** A crash hides messages for 30 s; each of the kills may hit a repeat of the ones before. */
const WITHIN_MS = 150_000;

const since = new Date().toISOString();

const receiver = await startReceiver();
const own = await privateWorkerEnvironment();
const workers: WorkerProcess[] = [];

afterAll(async () => {
  for (const worker of workers) worker.kill('SIGKILL');
  await Promise.all(workers.map(({ ended }) => ended));
  await Promise.all([receiver.close(), own.deleteQueues()]);
});

const readBooks = (queue: string) => allBooks((path) => answerOf('GET', path), queue, since);

const start = (): WorkerProcess => {
  const worker = startWorker(own.variables, ['--concurrency', String(CONCURRENCY)]);
  workers.push(worker);
  return worker;
};

it(
  'loses nothing although workers are killed in mid-batch beside others, and repeats no more than was in flight',
  async () => {
    const { queue, path } = await subscribedQueue(receiver, { answers: [{ delayMs: 100 }] });
    const survivor = start();
    await publishMany(queue, MESSAGES, { queueUrl: own.ingressQueueUrl });
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const victim = start();
      await receiver.waitFor(path, kill * 30, WITHIN_MS);
      victim.kill('SIGKILL');
      expect(await victim.ended).toBe(null);
    }
    await eventually(
      'all deliveries',
      async () => ((await readBooks(queue)).delivered === MESSAGES ? true : undefined),
      WITHIN_MS,
    );
    const ids = receiver.received(path).map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(MESSAGES);
    const repeats = ids.length - MESSAGES;
    expect(repeats).toBeLessThanOrEqual(KILLS * CONCURRENCY);
    survivor.kill('SIGTERM');
    expect(await survivor.ended).toBe(0);
    process.stdout.write(`${KILLS} workers killed, ${MESSAGES} deliveries, ${repeats} requests repeated\n`);
  },
  WITHIN_MS + 30_000,
);
