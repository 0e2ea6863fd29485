import type { OperationTable } from './operation-table.ts';
import type { Operations } from './operations.ts';
import type { Waits } from './waits.ts';

/** Lambda gives a function one processor at this memory, and a share of it below (Lambda developer guide, "Memory"). */
const MEGABYTES_OF_ONE_PROCESSOR = 1769;

/** A call of AWS inside a region, in milliseconds. Not measured: an emulator says nothing of it. */
export const AWS_CALL_MS = 5;

export type Waiting = { attemptMs: number; failedAttemptMs: number };

/** How long a function runs for all its invocations together, in seconds, and what that comes to in memory. */
export type Compute = { seconds: number; gigabyteSeconds: number };

/**
 * Processor time as measured here, taken for that of Lambda's processors, stretched by the share of one that the memory
 * buys; and waiting, for subscribers and for AWS, which the records of a batch and the members of a chunk do side by side.
 */
export function computeOf(
  operations: Operations,
  { perInvocation }: OperationTable,
  waiting: Waiting,
): { dispatch: Compute; deliver: Compute } {
  const { invocations, cpuMs, waits } = operations;
  const total = (name: 'dispatch' | 'deliver'): Compute => {
    const { memoryMegabytes } = perInvocation[name];
    const busyMs = cpuMs[name] + invocations[name] * perInvocation[name].cpuMs;
    return compute(busyMs, waitedMs(waits[name], waiting), memoryMegabytes);
  };
  return { dispatch: total('dispatch'), deliver: total('deliver') };
}

function waitedMs(
  { awsCalls, attempts, failedAttempts }: Waits,
  { attemptMs, failedAttemptMs }: Waiting,
): number {
  return awsCalls * AWS_CALL_MS + (attempts - failedAttempts) * attemptMs + failedAttempts * failedAttemptMs;
}

export function compute(busyMs: number, waitingMs: number, memoryMegabytes: number): Compute {
  const share = Math.min(1, memoryMegabytes / MEGABYTES_OF_ONE_PROCESSOR);
  const seconds = (Math.max(0, busyMs) / share + waitingMs) / 1000;
  return { seconds, gigabyteSeconds: (seconds * memoryMegabytes) / 1024 };
}
