import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { booksViewSchema } from '../../shared/wire/views/books.ts';
import { callApi, putQueue, subscribe } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { sendTogether } from '../support/sqs-messages.ts';
import { privateWorkerEnvironment, startWorker, type WorkerProcess } from '../support/worker-process.ts';

const MESSAGES = 200;
const KILLS = 3;
/** Of each worker: the most requests that a kill can repeat. */
const CONCURRENCY = 10;

/** A crash hides messages for 30 s; each of the kills may hit a repeat of the ones before. */
const WITHIN_MS = 150_000;

const since = new Date().toISOString();

let receiver: Receiver;
let own: Awaited<ReturnType<typeof privateWorkerEnvironment>>;
const workers: WorkerProcess[] = [];

beforeAll(async () => {
  [receiver, own] = await Promise.all([startReceiver(), privateWorkerEnvironment()]);
});

afterAll(async () => {
  for (const worker of workers) worker.kill('SIGKILL');
  await Promise.all(workers.map(({ ended }) => ended));
  await Promise.all([receiver.close(), own.deleteQueues()]);
});

const start = (): WorkerProcess => {
  const worker = startWorker(own.variables, ['--concurrency', String(CONCURRENCY)]);
  workers.push(worker);
  return worker;
};

/** Numbers of requests by message. */
const requestsTo = (path: string): Map<string, number> =>
  receiver.received(path).reduce((counts, { headers }) => {
    const id = String(headers['webhook-id']);
    return counts.set(id, (counts.get(id) ?? 0) + 1);
  }, new Map<string, number>());

it(
  'loses nothing although workers are killed in mid-batch beside others, and repeats no more than was in flight',
  async () => {
    const queue = `killed-worker-${randomUUID()}`;
    const path = `/${queue}`;
    receiver.script(path, [{ delayMs: 100 }]);
    await putQueue(queue);
    await subscribe(queue, receiver.url(path));
    const survivor = start();
    for (let from = 0; from < MESSAGES; from += 10)
      await sendTogether(
        own.ingressQueueUrl,
        Array.from({ length: 10 }, (_, index) => JSON.stringify({ queue, id: `m-${from + index}`, data: 1 })),
      );
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const victim = start();
      await receiver.waitFor(path, kill * 30, WITHIN_MS);
      victim.kill('SIGKILL');
      expect(await victim.ended).toBe(null);
    }
    await eventually(
      'all deliveries',
      async () => ((await deliveredOf(queue)) === MESSAGES ? true : undefined),
      WITHIN_MS,
    );
    const requests = requestsTo(path);
    expect(requests.size).toBe(MESSAGES);
    const repeats = [...requests.values()].reduce((sum, count) => sum + count - 1, 0);
    expect(repeats).toBeLessThanOrEqual(KILLS * CONCURRENCY);
    survivor.kill('SIGTERM');
    expect(await survivor.ended).toBe(0);
    process.stdout.write(`${KILLS} workers killed, ${MESSAGES} deliveries, ${repeats} requests repeated\n`);
  },
  WITHIN_MS + 30_000,
);

const deliveredOf = async (queue: string): Promise<number | undefined> => {
  const response = await callApi('GET', `/v2/queues/${queue}/books?since=${since}`);
  return response.ok ? booksViewSchema.parse(await response.json()).books.delivered : undefined;
};
