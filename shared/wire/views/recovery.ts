import * as z from 'zod';
import { RECOVERABLE_STATUSES } from '../../domain/delivery/vocabulary.ts';
import { RECOVERY_STATES, type Recovery } from '../../domain/recovery/recovery.ts';
import { timeText, timeView } from '../fields.ts';

const count = z.int().nonnegative();

/** A recovery as the API shows it. Times are RFC 3339 in UTC with milliseconds. */
export const recoveryViewSchema = z.object({
  id: z.string(),
  queue: z.string(),
  since: timeView,
  until: timeView,
  subscription: z.string().exactOptional(),
  status: z.enum(RECOVERABLE_STATUSES).exactOptional(),
  state: z.enum(RECOVERY_STATES),
  /** Deliveries processed so far: reopened, or skipped for a reason. */
  found: count,
  reopened: count,
  skipped: z.record(z.string(), count),
  createdAt: timeView,
  updatedAt: timeView,
});

export type RecoveryView = z.infer<typeof recoveryViewSchema>;

export function recoveryView({ selection, ...recovery }: Recovery): RecoveryView {
  return {
    id: recovery.id,
    queue: selection.queue,
    since: timeText(selection.since),
    until: timeText(selection.until),
    ...(selection.subscriptionId !== undefined && { subscription: selection.subscriptionId }),
    ...(selection.status !== undefined && { status: selection.status }),
    state: recovery.state,
    found: recovery.found,
    reopened: recovery.reopened,
    skipped: recovery.skipped,
    createdAt: timeText(recovery.createdAt),
    updatedAt: timeText(recovery.updatedAt),
  };
}
