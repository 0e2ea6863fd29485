import * as z from 'zod';
import type { RecoveryOutcomes } from '../../domain/recovery/outcomes.ts';
import { timeText, timeView } from '../fields.ts';

const count = z.int().nonnegative();

/** What became of the deliveries of one subscription that a recovery reopened. */
export const recoveryOutcomesSchema = z.object({
  subscriptionId: z.string(),
  /** Reopened deliveries that are on record. */
  total: count,
  delivered: count,
  /** Ended again without a success. */
  failed: count,
  open: count,
  /** The earliest next attempt of the open ones. */
  nextAttemptAt: timeView.exactOptional(),
});

export type RecoveryOutcomesView = z.infer<typeof recoveryOutcomesSchema>;

export function recoveryOutcomesOf({ nextAttemptAt, ...counts }: RecoveryOutcomesView): RecoveryOutcomes {
  return { ...counts, ...(nextAttemptAt !== undefined && { nextAttemptAt: Date.parse(nextAttemptAt) }) };
}

export function recoveryOutcomesView({ nextAttemptAt, ...counts }: RecoveryOutcomes): RecoveryOutcomesView {
  return { ...counts, ...(nextAttemptAt !== undefined && { nextAttemptAt: timeText(nextAttemptAt) }) };
}
