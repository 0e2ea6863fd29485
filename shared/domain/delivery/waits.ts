import { toWaitingReason } from '../subscription/rate-limit.ts';
import type { Attempt, Wait } from './attempt.ts';
import { computeStart, type Delivery, isPause, type NextAttempt } from './delivery.ts';
import type { Waiting } from './vocabulary.ts';

type Waiter = Pick<Delivery, 'next' | 'slot'>;

/** The wait that a delivery is in. By pull it waits from its due time on. */
export function findWait({ next, slot }: Waiter): { reason: Waiting; since: number } | undefined {
  if (next === undefined) return undefined;
  if (next.by === 'pull') return { reason: 'pull', since: next.dueAt };
  const { waitingSince: since } = next;
  if (isPause(next)) return since === undefined ? undefined : { reason: 'paused', since };
  return slot === undefined || since === undefined ? undefined : { reason: toWaitingReason(slot), since };
}

/** What the attempt that could start at `dueAt` waited for. */
export function waitedUntil(delivery: Waiter, dueAt: number): Pick<Attempt, 'waited'> {
  return toField(waitsUntil(delivery, dueAt));
}

/** The waits that ended, and the one that the delivery is in, until `now`. */
function waitsUntil(delivery: Waiter, now: number): readonly Wait[] {
  const { waited = [] } = delivery.next ?? {};
  const wait = findWait(delivery);
  return wait === undefined ? waited : withWait(waited, { reason: wait.reason, ms: now - wait.since });
}

/**
 * `next` with the waits of the delivery so far: the one that it is in ends now. `since`: when it begins to wait again, for
 * its new slot.
 */
export function withWaits(next: NextAttempt, delivery: Waiter, now: number, since?: number): NextAttempt {
  const { waited: _waited, waitingSince: _since, ...planned } = next;
  const waited = toField(endedWaits(delivery, now));
  return { ...planned, ...waited, ...(since === undefined ? {} : { waitingSince: since }) };
}

function toField(waited: readonly Wait[]): Pick<Attempt, 'waited'> {
  return waited.length === 0 ? {} : { waited };
}

/** A wait ends when the attempt can start. If it does not start then, the rest is lag. */
function endedWaits(delivery: Waiter, now: number): readonly Wait[] {
  const { next } = delivery;
  if (next === undefined) return [];
  const end = next.by === 'pull' || isPause(next) ? now : Math.min(now, computeStart(delivery, next));
  return withWait(waitsUntil(delivery, end), { reason: 'lag', ms: now - end });
}

/** Waits of one reason become one. */
function withWait(waits: readonly Wait[], { reason, ms }: Wait): readonly Wait[] {
  if (ms <= 0) return waits;
  const before = waits.find((wait) => wait.reason === reason);
  return before === undefined
    ? [...waits, { reason, ms }]
    : waits.map((wait) => (wait === before ? { reason, ms: wait.ms + ms } : wait));
}

/** A shorter time from when an attempt could start until it started is not shown. */
const LEAST_SHOWN_MS = 1_000;

/** What an attempt waited for, in order, until it started: its waits, and the lag before and after them. */
export function listWaits(attempt: Attempt, acceptedAt: number): readonly Wait[] {
  const { waited = [], startedAt, dueAt = startedAt } = attempt;
  const waits = [
    lag(lagBeforeWaits(attempt, dueAt - countMs(waited) - acceptedAt)),
    ...waited,
    lag(startedAt - dueAt),
  ].filter(({ ms }) => ms > 0);
  return countMs(waits) < LEAST_SHOWN_MS ? [] : waits;
}

/** A retry could start when it was due. Earlier versions did not record the waits of a first attempt. */
function lagBeforeWaits(
  { number, phase, waited, dueAt, result }: Attempt,
  sinceAcceptanceMs: number,
): number {
  const isFirst = number === 1 && phase === 'initial';
  const isUnrecorded = waited === undefined && (dueAt !== undefined || RECEIVED.has(result.kind));
  return isFirst && !isUnrecorded ? sinceAcceptanceMs : 0;
}

const RECEIVED: ReadonlySet<Attempt['result']['kind']> = new Set(['acknowledged', 'refused', 'lapsed']);

function lag(ms: number): Wait {
  return { reason: 'lag', ms };
}

function countMs(waits: readonly Wait[]): number {
  return waits.reduce((sum, { ms }) => sum + ms, 0);
}

/** All waits of a delivery that ended, one for each reason. */
export function totalWaits({ attempts, acceptedAt, next }: Delivery): readonly Wait[] {
  const ended = attempts.flatMap((attempt) => listWaits(attempt, acceptedAt));
  return [...ended, ...(next?.waited ?? [])].reduce(withWait, []);
}
