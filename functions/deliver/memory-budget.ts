import { leaseMs } from '../../shared/domain/delivery/lease.ts';
import type { FirstJob } from '../../shared/domain/delivery/job.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { DeliverContext, MemoryBudget, Receipt } from './context.ts';

/**
 * Megabytes that the large messages of one instance may take. The function has 512, of which it needs some 120 for itself. Ten
 * chunks of ten subscribers fit, which is the usual batch.
 */
const MOST_MEGABYTES = 240;

/** For a message of 1 MiB at the worst: fetched and decoded, with what that leaves to be collected; and for a body by a template. */
const MEGABYTES = { message: 14, subscriber: 1 };

/** What a turn leaves of the invocation beside the lease: for what is read before the claim, in milliseconds. */
const READING_MS = 2_000;

/** More than `most` is had by one that is alone. */
export function memoryBudget(clock: Pick<Clock, 'sleep'>, most = MOST_MEGABYTES): MemoryBudget {
  type Waiting = { megabytes: number; enter: () => void };
  const waiting = new Set<Waiting>();
  let taken = 0;

  const admit = (): void => {
    for (const one of waiting) {
      if (taken > 0 && taken + one.megabytes > most) return;
      waiting.delete(one);
      taken += one.megabytes;
      one.enter();
    }
  };

  return {
    take: async (megabytes, waitMs) => {
      const entered = Promise.withResolvers<undefined>();
      const enter = (): void => {
        entered.resolve(undefined);
      };
      const own = { megabytes, enter };
      waiting.add(own);
      admit();
      if (waiting.has(own)) await Promise.race([entered.promise, clock.sleep(waitMs)]);
      if (waiting.delete(own)) {
        // Those behind it may need less.
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
 * Does the work of a job when there is memory for its message. False: there was none while the invocation had time for it, and
 * nothing was done. Messages that travel inside their jobs are small.
 */
export async function withMemoryFor(
  { memory, settings }: DeliverContext,
  job: FirstJob,
  { remainingMs }: Receipt,
  work: () => Promise<void>,
): Promise<boolean> {
  if (job.body.kind === 'inline') {
    await work();
    return true;
  }
  const subscribers = job.kind === 'chunk' ? job.subscriptionIds.length : 1;
  const megabytes = MEGABYTES.message + subscribers * MEGABYTES.subscriber;
  const waitMs = remainingMs() - leaseMs(settings.attemptTimeoutMs) - READING_MS;
  const giveBack = await memory.take(megabytes, waitMs);
  if (giveBack === undefined) return false;
  try {
    await work();
    return true;
  } finally {
    giveBack();
  }
}
