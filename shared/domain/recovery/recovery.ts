import * as z from 'zod';
import { MAX_RECHECKS } from './operation.ts';
import { endOfLastAttempt } from '../delivery/transitions.ts';
import { type Delivery, type DeliveryKey, renewed, type WriteTime } from '../delivery/delivery.ts';
import { RECOVERABLE_STATUSES, type RecoverableStatus, type Status } from '../delivery/vocabulary.ts';

const RECOVERY_STATES = ['running', 'completed', 'stopped'] as const;

/** What the times of a recovery are of: the acceptance of the message, or the end of the delivery without a success. */
export const RECOVERY_TIMES = ['acceptance', 'failure'] as const;
export type RecoveryTime = (typeof RECOVERY_TIMES)[number];

/** Which deliveries a recovery reopens. Times are milliseconds since the epoch. */
export const recoverySelectionSchema = z.object({
  queue: z.string(),
  /** Inclusive. */
  since: z.number(),
  /** Exclusive. */
  until: z.number(),
  /** Set if `since` and `until` are times of the failure: the earliest acceptance among which operate looks. */
  acceptedSince: z.number().exactOptional(),
  subscriptionId: z.string().exactOptional(),
  /** Default: all three statuses, except deliveries cancelled manually. */
  status: z.enum(RECOVERABLE_STATUSES).exactOptional(),
});

export type RecoverySelection = z.infer<typeof recoverySelectionSchema>;

const deliveryKey = z.object({
  queue: z.string(),
  messageId: z.string(),
  subscriptionId: z.string(),
  bucket: z.number(),
}) satisfies z.ZodType<DeliveryKey>;

const count = z.int().nonnegative();

/** Record of a recovery. */
export const recoverySchema = z.object({
  id: z.string(),
  selection: recoverySelectionSchema,
  state: z.enum(RECOVERY_STATES),
  /** Deliveries processed so far: reopened and skipped. */
  found: count,
  /** Deliveries reopened for another round. */
  reopened: count,
  /** Number of skipped deliveries per reason. */
  skipped: z.record(z.string(), count),
  /**
   * The batch in progress. Stored before its first delivery changes, so that a crash does not cause double
   * counting.
   */
  batch: z.array(deliveryKey).readonly(),
  /** Deliveries that cannot be reopened yet, but soon; they are retried. */
  deferred: z.array(deliveryKey).readonly(),
  /** Retries of the deferred deliveries since the last page. */
  looks: z.number(),
  /** Start of the next page; absent before the first. */
  cursor: z.string().exactOptional(),
  /** All pages of the listing were read. */
  listed: z.boolean(),
  /**
   * Number of pages read so far, each of which is stored (`Recoveries.keepPage`). Absent once an earlier version,
   * which stores no pages, has written the record.
   */
  pages: z.number().exactOptional(),
  /** Incremented by every write, so that of two concurrent invocations one stops. */
  version: z.number(),
  createdAt: z.number(),
  updatedAt: z.number(),
  expiresAt: z.number(),
});

export type Recovery = z.infer<typeof recoverySchema>;

/**
 * The id of a recovery; ids sort by creation time (13 digits suffice until the year 2286). `unique`: a value of
 * `newId`, which is safe in ids.
 */
export function buildRecoveryId(createdAt: number, unique: string): string {
  return `${String(createdAt).padStart(13, '0')}-${unique}`;
}

/** A new, running recovery. `at.retentionMs`: retention of its record after the last write. */
export function newRecovery(id: string, selection: RecoverySelection, at: WriteTime): Recovery {
  return {
    id,
    selection,
    state: 'running',
    found: 0,
    reopened: 0,
    skipped: {},
    batch: [],
    deferred: [],
    looks: 0,
    listed: false,
    pages: 0,
    version: 1,
    createdAt: at.now,
    updatedAt: at.now,
    expiresAt: at.now + at.retentionMs,
  };
}

export function isRecoverable(status: Status): status is RecoverableStatus {
  return RECOVERABLE_STATUSES.some((recoverable) => recoverable === status);
}

/**
 * Whether a recovery covers a delivery: it had ended in a selected status when the recovery was created. A delivery
 * that failed again later is left for the next recovery.
 */
export function isSelected({ selection, createdAt }: Recovery, delivery: Delivery): boolean {
  const { status, reason } = delivery;
  if (!isRecoverable(status) || status !== (selection.status ?? status)) return false;
  const isLeftAlone = selection.status === undefined && status === 'cancelled' && reason === 'manual';
  const at = endedAt(delivery, status);
  return !isLeftAlone && at <= createdAt && isInWindow(selection, at);
}

/** Whether a delivery that ended at `at` is in the window. The listing has checked a window of acceptance times. */
function isInWindow({ acceptedSince, since, until }: RecoverySelection, at: number): boolean {
  return acceptedSince === undefined || (at >= since && at < until);
}

/** The listing of the deliveries that a recovery may cover: a delivery is accepted before it fails. */
export function toListing({ acceptedSince, since, ...selection }: RecoverySelection): RecoverySelection {
  return { ...selection, since: acceptedSince ?? since };
}

/** Completing pending steps updates the record of an ended delivery, but not its last attempt. */
function endedAt(delivery: Delivery, status: RecoverableStatus): number {
  return status === 'cancelled' ? delivery.updatedAt : endOfLastAttempt(delivery);
}

/** Result for one delivery of the batch. `not_covered`: not, or no longer, in a selected status. */
export type RecoveryResult =
  | { kind: 'reopened' }
  | { kind: 'skipped'; why: string }
  | { kind: 'deferred'; why: string; key: DeliveryKey }
  | { kind: 'not_covered' };

/** The recovery after results of its batch. `rest`: deliveries for which there was no time. */
export function withResults(
  recovery: Recovery,
  results: readonly RecoveryResult[],
  rest: readonly DeliveryKey[],
): Recovery {
  return results.reduce(withResult, { ...recovery, batch: rest });
}

function withResult(recovery: Recovery, result: RecoveryResult): Recovery {
  switch (result.kind) {
    case 'reopened':
      return { ...recovery, found: recovery.found + 1, reopened: recovery.reopened + 1 };
    case 'skipped':
      return withSkipped(recovery, result.why);
    case 'deferred':
      return recovery.looks < MAX_RECHECKS
        ? { ...recovery, deferred: [...recovery.deferred, result.key] }
        : withSkipped(recovery, result.why);
    case 'not_covered':
      return recovery;
  }
}

function withSkipped(recovery: Recovery, why: string): Recovery {
  return {
    ...recovery,
    found: recovery.found + 1,
    skipped: { ...recovery.skipped, [why]: (recovery.skipped[why] ?? 0) + 1 },
  };
}

/** With more deferred deliveries, no further page is read. Together with one page they fit into one batch. */
const MAX_DEFERRED = 50;

/** The next step of a running recovery after its batch. */
export function stepAfterBatch({ listed, deferred }: Recovery): 'list' | 'recheck' | 'complete' {
  if (!listed && deferred.length <= MAX_DEFERRED) return 'list';
  return deferred.length > 0 ? 'recheck' : 'complete';
}

/** The recovery with the next page as its batch. */
export function withPage(
  recovery: Recovery,
  { keys, marker }: { keys: readonly DeliveryKey[]; marker?: string | undefined },
): Recovery {
  return {
    ...recovery,
    batch: keys,
    looks: 0,
    ...(recovery.pages !== undefined && { pages: recovery.pages + 1 }),
    ...(marker === undefined ? { listed: true } : { cursor: marker }),
  };
}

/** The recovery with its deferred deliveries as the batch. */
export function withDeferredAsBatch(recovery: Recovery): Recovery {
  return {
    ...recovery,
    batch: recovery.deferred,
    deferred: [],
    looks: recovery.looks + 1,
  };
}

/** The recovery as its next write stores it. */
export function nextVersion(recovery: Recovery, at: WriteTime): Recovery {
  return {
    ...recovery,
    version: recovery.version + 1,
    ...renewed(recovery, at),
  };
}
