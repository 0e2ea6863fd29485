import * as z from 'zod';

/** What a process with a function in it is asked: to handle these messages of a queue, ten at a time. */
export const runQuestion = z.object({ bodies: z.array(z.string()) });

/** What it came to, in the process alone. */
export const runAnswer = z.object({
  cpuMs: z.number(),
  wallMs: z.number(),
  /** Of V8's heap, while it ran. */
  allocatedBytes: z.number(),
  /** Of V8's heap, afterwards, when all garbage was collected. */
  heapBytes: z.number(),
  /** Of the whole process. */
  residentBytes: z.number(),
  /** The most that the process has had since it began. */
  peakResidentBytes: z.number(),
  /** Messages that were not acknowledged. */
  failed: z.number(),
});

export type Run = z.output<typeof runAnswer>;
