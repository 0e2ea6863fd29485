import { MOST_LOOKS } from './operation.ts';
import type { Delivery, DeliveryKey } from '../delivery/delivery.ts';
import {
  RECOVERABLE_STATUSES,
  type RecoverableStatus,
  type RecoveryState,
  type Status,
} from '../vocabulary.ts';

/** Which deliveries a recovery replays. Times are milliseconds since the epoch, by when the message was accepted. */
export type RecoverySelection = {
  queue: string;
  /** At or after. */
  since: number;
  /** Before. */
  until: number;
  subscriptionId?: string;
  /** Any of the three where none is given; those cancelled by hand are left alone then. */
  status?: RecoverableStatus;
};

/** A recovery as kept on record. */
export type Recovery = {
  id: string;
  selection: RecoverySelection;
  state: RecoveryState;
  /** Deliveries dealt with so far: reopened and skipped ones together. */
  found: number;
  /** Those that were given another round. */
  reopened: number;
  /** Those that could not be: why, and how many. */
  skipped: Readonly<Record<string, number>>;
  /** Under work. On record before the first of them is touched, so that each is counted once whatever crashes. */
  batch: readonly DeliveryKey[];
  /** Not to be reopened yet, but soon, so they are looked at again. */
  deferred: readonly DeliveryKey[];
  /** How often the deferred were looked at again since the last page. */
  looks: number;
  /** Where the next page begins; absent before the first. */
  cursor?: string;
  /** The listing was followed to its end. */
  listed: boolean;
  /** Grows with every write, so that of two who work on it one has to stop. */
  version: number;
  createdAt: number;
  updatedAt: number;
  expiresAt: number;
};

/** `unique` is safe in an id, as `newId` makes them. Ids sort by the time: 13 digits last until the year 2286. */
export function recoveryIdOf(createdAt: number, unique: string): string {
  return `${String(createdAt).padStart(13, '0')}-${unique}`;
}

/** `at.retentionMs`: how long the record outlives its last write. */
export function newRecovery(
  id: string,
  selection: RecoverySelection,
  at: { now: number; retentionMs: number },
): Recovery {
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
 * Whether a delivery is one that the recovery is about: over when the recovery was ordered, in one of the ways asked for.
 * What ended later has failed anew, if only once more, and is left to whoever looks at it then.
 */
export function isSelected({ selection, createdAt }: Recovery, delivery: Delivery): boolean {
  const { status, reason } = delivery;
  if (!isRecoverable(status) || status !== (selection.status ?? status)) return false;
  const isLeftAlone = selection.status === undefined && status === 'cancelled' && reason === 'manual';
  return !isLeftAlone && endedAt(delivery, status) <= createdAt;
}

/** A record that is over is still written to when what it owes is done; its last attempt has not moved by that. */
function endedAt({ attempts, updatedAt }: Delivery, status: RecoverableStatus): number {
  const last = attempts.at(-1);
  return status === 'cancelled' || last === undefined ? updatedAt : last.startedAt + last.durationMs;
}

/** What came of a delivery of the batch. `unconcerned`: not what the recovery is about, or not any more. */
export type ReplayResult =
  | { kind: 'reopened' }
  | { kind: 'skipped'; why: string }
  | { kind: 'later'; why: string; key: DeliveryKey }
  | { kind: 'unconcerned' };

/** The counts after deliveries of the batch were dealt with; `rest` are those that there was no time for. */
export function withResults(
  recovery: Recovery,
  handled: readonly ReplayResult[],
  rest: readonly DeliveryKey[],
): Recovery {
  let after: Recovery = { ...recovery, batch: rest };
  for (const handling of handled) after = withResult(after, handling);
  return after;
}

function withResult(recovery: Recovery, handling: ReplayResult): Recovery {
  switch (handling.kind) {
    case 'reopened':
      return { ...recovery, found: recovery.found + 1, reopened: recovery.reopened + 1 };
    case 'skipped':
      return withSkipped(recovery, handling.why);
    case 'later':
      return recovery.looks < MOST_LOOKS
        ? { ...recovery, deferred: [...recovery.deferred, handling.key] }
        : withSkipped(recovery, handling.why);
    case 'unconcerned':
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

/** More than these wait for another look before the next page: with a page's worth on top, they are looked at in one go. */
export const MOST_DEFERRED = 50;

/** What a running recovery does once its batch is dealt with. */
export function stepAfterBatch({ listed, deferred }: Recovery): 'list' | 'look_again' | 'complete' {
  if (!listed && deferred.length <= MOST_DEFERRED) return 'list';
  return deferred.length > 0 ? 'look_again' : 'complete';
}

/** The next page is the batch. */
export function withPage(
  recovery: Recovery,
  { keys, marker }: { keys: readonly DeliveryKey[]; marker?: string | undefined },
): Recovery {
  return {
    ...recovery,
    batch: keys,
    looks: 0,
    ...(marker === undefined ? { listed: true } : { cursor: marker }),
  };
}

/** The deferred are the batch once more. */
export function withDeferredAgain(recovery: Recovery): Recovery {
  return {
    ...recovery,
    batch: recovery.deferred,
    deferred: [],
    looks: recovery.looks + 1,
  };
}

/** As it is written next. */
export function nextVersion(recovery: Recovery, at: { now: number; retentionMs: number }): Recovery {
  return {
    ...recovery,
    version: recovery.version + 1,
    updatedAt: at.now,
    expiresAt: Math.max(recovery.expiresAt, at.now + at.retentionMs),
  };
}
