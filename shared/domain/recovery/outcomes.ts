import * as z from 'zod';
import { computeStart, type Delivery } from '../delivery/delivery.ts';
import { isOpenStatus } from '../delivery/vocabulary.ts';

const count = z.int().nonnegative();

/** What became of the deliveries of one subscription that a recovery reopened. Times in milliseconds. */
export const recoveryOutcomesSchema = z.object({
  subscriptionId: z.string(),
  /** Reopened deliveries that are on record. */
  total: count,
  delivered: count,
  /** Ended again without a success. */
  failed: count,
  open: count,
  /** The earliest next attempt of the open ones; absent if none is planned. */
  nextAttemptAt: z.number().exactOptional(),
});

export type RecoveryOutcomes = z.infer<typeof recoveryOutcomesSchema>;

/**
 * The present state of the deliveries that a recovery reopened, per subscription. Other deliveries do not count: the
 * recovery listed them, and skipped them.
 */
export function countOutcomes(recoveryId: string, deliveries: readonly Delivery[]): RecoveryOutcomes[] {
  return sumOfOutcomes(
    deliveries.filter(({ recoveries }) => recoveries.includes(recoveryId)).map(toOutcomes),
  );
}

function toOutcomes(delivery: Delivery): RecoveryOutcomes {
  const { key, status, next } = delivery;
  const open = isOpenStatus(status);
  const delivered = status === 'delivered';
  return {
    subscriptionId: key.subscriptionId,
    total: 1,
    delivered: delivered ? 1 : 0,
    failed: open || delivered ? 0 : 1,
    open: open ? 1 : 0,
    ...(open && next !== undefined && { nextAttemptAt: computeStart(delivery, next) }),
  };
}

/** One entry per subscription, in the order in which they first appear. */
export function sumOfOutcomes(parts: Iterable<RecoveryOutcomes>): RecoveryOutcomes[] {
  const sums = new Map<string, RecoveryOutcomes>();
  for (const part of parts) {
    const sum = sums.get(part.subscriptionId);
    sums.set(part.subscriptionId, sum === undefined ? part : addOutcomes(sum, part));
  }
  return [...sums.values()];
}

function addOutcomes(one: RecoveryOutcomes, other: RecoveryOutcomes): RecoveryOutcomes {
  const nextAttemptAt = Math.min(one.nextAttemptAt ?? Infinity, other.nextAttemptAt ?? Infinity);
  return {
    subscriptionId: one.subscriptionId,
    total: one.total + other.total,
    delivered: one.delivered + other.delivered,
    failed: one.failed + other.failed,
    open: one.open + other.open,
    ...(nextAttemptAt < Infinity && { nextAttemptAt }),
  };
}
