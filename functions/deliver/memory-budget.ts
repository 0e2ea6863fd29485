import { MEMORY_MEGABYTES } from '../../shared/config/rules.ts';
import { leaseMs } from '../../shared/domain/retry/attempt-duration.ts';
import type { FirstJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { DeliverContext, MemoryBudget, SqsReceipt } from './context.ts';

/** Megabytes that a function instance needs without large messages. */
const OWN_MEGABYTES = 112;

/** Of the rest. What V8 has not collected yet takes the remainder. */
const SHARE_OF_LARGE_MESSAGES = 0.6;

/**
 * Megabytes for large messages in a function instance, or a worker, with so much memory. By default ten chunks of ten
 * subscribers fit: the usual batch.
 */
export function largeMessageMegabytes(memoryMegabytes: number = MEMORY_MEGABYTES.deliver): number {
  return Math.max(0, (memoryMegabytes - OWN_MEGABYTES) * SHARE_OF_LARGE_MESSAGES);
}

/**
 * Worst case of a 1 MiB message: fetched and decoded, with garbage not yet collected; and per subscriber a templated
 * body.
 */
const MEGABYTES = { message: 14, subscriber: 1 };

/** Time reserved for the reads before the claim, in milliseconds. */
const READING_MS = 2_000;

/**
 * A first-come, first-served budget of `limit` megabytes. A single request for more is granted when it is
 * alone.
 */
export function memoryBudget(clock: Pick<Clock, 'sleep'>, limit = largeMessageMegabytes()): MemoryBudget {
  type Waiter = { megabytes: number; enter: (entered: true) => void };
  const waiting = new Set<Waiter>();
  let taken = 0;

  const admit = (): void => {
    for (const next of waiting) {
      if (taken > 0 && taken + next.megabytes > limit) return;
      waiting.delete(next);
      taken += next.megabytes;
      next.enter(true);
    }
  };

  return {
    take: async (megabytes, waitMs) => {
      const { promise: entered, resolve: enter } = Promise.withResolvers<true>();
      const waiter = { megabytes, enter };
      waiting.add(waiter);
      admit();
      if (waiting.has(waiter)) await Promise.race([entered, clock.sleep(waitMs)]);
      if (waiting.delete(waiter)) {
        // The next waiters may need less.
        admit();
        return undefined;
      }
      return () => {
        taken -= megabytes;
        admit();
      };
    },
  };
}

/**
 * Waits for memory for the job's message, and returns a function that releases it. Undefined: none was available in
 * time. A message that travels inside its job is small and does not count, nor does that of a wake-up.
 */
export async function takeMemoryFor(
  { memory, settings }: DeliverContext,
  job: FirstJob | WakeUp,
  { remainingMs }: SqsReceipt,
): Promise<(() => void) | undefined> {
  if (job.kind === 'wake_up' || job.body.kind === 'inline') return () => undefined;
  const subscribers = job.kind === 'chunk' ? job.subscriptionIds.length : 1;
  const megabytes = MEGABYTES.message + subscribers * MEGABYTES.subscriber;
  const waitMs = remainingMs() - leaseMs(settings.attemptTimeoutMs) - READING_MS;
  return memory.take(megabytes, waitMs);
}
