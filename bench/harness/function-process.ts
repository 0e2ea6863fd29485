import { randomUUID } from 'node:crypto';
import { GCProfiler, getHeapStatistics } from 'node:v8';
import * as z from 'zod';
import { answerWith, type Run, runQuestion } from './child.ts';

/** One function, called as Lambda calls it: one invocation at a time, with ten messages. */

const BATCH = 10;

/** Milliseconds that an invocation may take; more than any does here. */
const TIMEOUT_MS = 30_000;

type Handler = (event: object, context: object) => Promise<unknown>;

const loaded = z.object({ handler: z.custom<Handler>((value) => typeof value === 'function') });

const { handler } = loaded.parse(await import(z.string().parse(process.argv[2])));

const recordOf = (body: string) => ({
  messageId: randomUUID(),
  receiptHandle: 'receipt',
  body,
  attributes: {
    ApproximateReceiveCount: '1',
    SentTimestamp: String(Date.now()),
    SenderId: 'bench',
    ApproximateFirstReceiveTimestamp: String(Date.now()),
  },
  messageAttributes: {},
  md5OfBody: '',
  eventSource: 'aws:sqs',
  eventSourceARN: 'arn:aws:sqs:us-east-1:000000000000:queue',
  awsRegion: 'us-east-1',
});

const contextOf = () => {
  const endsAt = performance.now() + TIMEOUT_MS;
  return {
    awsRequestId: randomUUID(),
    functionName: 'measured',
    getRemainingTimeInMillis: () => endsAt - performance.now(),
  };
};

const eventsOf = (bodies: readonly string[]) =>
  Array.from({ length: Math.ceil(bodies.length / BATCH) }, (_, index) => ({
    Records: bodies.slice(index * BATCH, (index + 1) * BATCH).map(recordOf),
  }));

const partial = z.object({ batchItemFailures: z.array(z.unknown()) });

const usedBytes = (): number => getHeapStatistics().used_heap_size;

/** What was used more at the end than at the beginning, and what was collected in between. */
const allocatedSince = (before: number, profiler: GCProfiler): number =>
  profiler
    .stop()
    .statistics.reduce(
      (total, { beforeGC, afterGC }) =>
        total + beforeGC.heapStatistics.usedHeapSize - afterGC.heapStatistics.usedHeapSize,
      usedBytes() - before,
    );

const runAll = async (
  bodies: readonly string[],
): Promise<Omit<Run, 'heapBytes' | 'residentBytes' | 'peakResidentBytes'>> => {
  const events = eventsOf(bodies);
  globalThis.gc?.();
  const profiler = new GCProfiler();
  profiler.start();
  const [before, startedAt, cpu] = [usedBytes(), performance.now(), process.cpuUsage()];
  let failed = 0;
  for (const event of events) {
    const answer = partial.parse(await handler(event, contextOf()));
    failed += answer.batchItemFailures.length;
  }
  const { user, system } = process.cpuUsage(cpu);
  const wallMs = performance.now() - startedAt;
  return { cpuMs: (user + system) / 1000, wallMs, allocatedBytes: allocatedSince(before, profiler), failed };
};

answerWith(runQuestion, async ({ bodies }) => {
  const run = await runAll(bodies);
  // What ended with the last invocation is let go of in the turns after it.
  await new Promise(setImmediate);
  globalThis.gc?.();
  return {
    ...run,
    heapBytes: usedBytes(),
    residentBytes: process.memoryUsage.rss(),
    peakResidentBytes: process.resourceUsage().maxRSS * 1024,
  };
});
