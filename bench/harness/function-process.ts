import { GCProfiler, getHeapStatistics } from 'node:v8';
import * as z from 'zod';
import { peakMemoryBytes } from '../../test/support/peak-memory.ts';
import { anInvocation, anSqsRecord } from '../../test/support/sqs-event.ts';
import type { Run } from './function.ts';

/** One function, called as Lambda calls it: one invocation at a time, with up to ten messages. */

/** A worker gets all at once, and receives them itself. */
const BATCH = Number(process.env['BENCH_BATCH'] ?? 10);

/** The timeout of dispatch, in milliseconds. */
const TIMEOUT_MS = 30_000;

type Handler = (event: object, context: object) => Promise<unknown>;

const loaded = z.object({ handler: z.custom<Handler>((value) => typeof value === 'function') });
const partial = z.object({ batchItemFailures: z.array(z.object({ itemIdentifier: z.string() })) });
const question = z.object({ bodies: z.array(z.string()) });

const { handler } = loaded.parse(await import(z.string().parse(process.argv[2])));

async function runAll(bodies: readonly string[]): Promise<Run> {
  const records = bodies.map((body) => anSqsRecord(body));
  globalThis.gc?.();
  const profiler = new GCProfiler();
  profiler.start();
  const [before, cpu] = [usedBytes(), process.cpuUsage()];
  const failed = new Set<string>();
  for (let from = 0; from === 0 || from < records.length; from += BATCH) {
    const event = { Records: records.slice(from, from + BATCH) };
    const answer = partial.parse(await handler(event, anInvocation(TIMEOUT_MS)));
    for (const { itemIdentifier } of answer.batchItemFailures) failed.add(itemIdentifier);
  }
  const { user, system } = process.cpuUsage(cpu);
  const allocatedBytes = allocatedSince(before, profiler);
  // The last invocation releases its memory in the turns after it.
  await new Promise(setImmediate);
  globalThis.gc?.();
  return {
    cpuMs: (user + system) / 1000,
    allocatedBytes,
    heapBytes: usedBytes(),
    peakBytes: peakMemoryBytes(),
    failed: records.flatMap(({ messageId }, index) => (failed.has(messageId) ? [index] : [])),
  };
}

function usedBytes(): number {
  return getHeapStatistics().used_heap_size;
}

/** The growth of the heap plus all that was collected. */
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
