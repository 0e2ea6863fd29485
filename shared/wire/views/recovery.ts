import * as z from 'zod';
import { type RecoveryOutcomes, recoveryOutcomesSchema } from '../../domain/recovery/outcomes.ts';
import { type Recovery, RECOVERY_TIMES, recoverySchema } from '../../domain/recovery/recovery.ts';
import { timeText, timeView } from '../fields.ts';

const { shape } = recoverySchema;
const { queue, subscriptionId, status } = shape.selection.shape;

/** A recovery as the API shows it: without how far operate is. Times are RFC 3339 in UTC with milliseconds. */
export const recoveryViewSchema = z.object({
  id: shape.id,
  queue,
  since: timeView,
  until: timeView,
  /** What the two times are of; absent: of the acceptance. */
  by: z.enum(RECOVERY_TIMES).exactOptional(),
  subscription: subscriptionId,
  status,
  state: shape.state,
  found: shape.found,
  reopened: shape.reopened,
  skipped: shape.skipped,
  createdAt: timeView,
  updatedAt: timeView,
});

export type RecoveryView = z.infer<typeof recoveryViewSchema>;

export function recoveryView(recovery: Recovery): RecoveryView {
  const { id, selection, state, found, reopened, skipped, createdAt, updatedAt } = recovery;
  const { since, until, acceptedSince, subscriptionId: subscription, ...selected } = selection;
  return {
    id,
    ...selected,
    since: timeText(since),
    until: timeText(until),
    ...(acceptedSince !== undefined && { by: 'failure' as const }),
    ...(subscription !== undefined && { subscription }),
    state,
    found,
    reopened,
    skipped,
    createdAt: timeText(createdAt),
    updatedAt: timeText(updatedAt),
  };
}

/** What became of the deliveries of one subscription that a recovery reopened, as the API shows it. */
export const recoveryOutcomesViewSchema = recoveryOutcomesSchema.extend({
  nextAttemptAt: timeView.exactOptional(),
});

export type RecoveryOutcomesView = z.infer<typeof recoveryOutcomesViewSchema>;

export function toRecoveryOutcomes({ nextAttemptAt, ...counts }: RecoveryOutcomesView): RecoveryOutcomes {
  return { ...counts, ...(nextAttemptAt !== undefined && { nextAttemptAt: Date.parse(nextAttemptAt) }) };
}

export function recoveryOutcomesView({ nextAttemptAt, ...counts }: RecoveryOutcomes): RecoveryOutcomesView {
  return { ...counts, ...(nextAttemptAt !== undefined && { nextAttemptAt: timeText(nextAttemptAt) }) };
}
