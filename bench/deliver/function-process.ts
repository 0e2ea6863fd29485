import { GCProfiler, getHeapStatistics } from 'node:v8';
import * as z from 'zod';
import { anInvocation, anSqsRecord } from '../../test/support/sqs-event.ts';
import type { Run } from './function.ts';

/** One function, called as Lambda calls it: one invocation at a time, with ten messages. */

const BATCH = 10;

/** Milliseconds that an invocation may take; more than any does here. */
const TIMEOUT_MS = 30_000;

type Handler = (event: object, context: object) => Promise<unknown>;

const loaded = z.object({ handler: z.custom<Handler>((value) => typeof value === 'function') });
const partial = z.object({ batchItemFailures: z.array(z.unknown()) });
const question = z.object({ bodies: z.array(z.string()) });

const { handler } = loaded.parse(await import(z.string().parse(process.argv[2])));

async function runAll(bodies: readonly string[]): Promise<Run> {
  const events = Array.from({ length: Math.ceil(bodies.length / BATCH) }, (_, index) => ({
    Records: bodies.slice(index * BATCH, (index + 1) * BATCH).map((body) => anSqsRecord(body)),
  }));
  globalThis.gc?.();
  const profiler = new GCProfiler();
  profiler.start();
  const [before, cpu] = [usedBytes(), process.cpuUsage()];
  let failed = 0;
  for (const event of events) {
    const answer = partial.parse(await handler(event, anInvocation(TIMEOUT_MS)));
    failed += answer.batchItemFailures.length;
  }
  const { user, system } = process.cpuUsage(cpu);
  const allocatedBytes = allocatedSince(before, profiler);
  // What ended with the last invocation is let go of in the turns after it.
  await new Promise(setImmediate);
  globalThis.gc?.();
  return {
    cpuMs: (user + system) / 1000,
    allocatedBytes,
    heapBytes: usedBytes(),
    peakResidentBytes: process.resourceUsage().maxRSS * 1024,
    failed,
  };
}

function usedBytes(): number {
  return getHeapStatistics().used_heap_size;
}

/** What was used more at the end than at the beginning, and what was collected in between. */
function allocatedSince(before: number, profiler: GCProfiler): number {
  return profiler
    .stop()
    .statistics.reduce(
      (total, { beforeGC, afterGC }) =>
        total + beforeGC.heapStatistics.usedHeapSize - afterGC.heapStatistics.usedHeapSize,
      usedBytes() - before,
    );
}

process.on('message', (message) => {
  void runAll(question.parse(message).bodies).then((run) => process.send?.(run));
});
process.on('disconnect', () => process.exit());
