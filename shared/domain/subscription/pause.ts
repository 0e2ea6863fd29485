import * as z from 'zod';
import type { PausedBy } from './vocabulary.ts';

/**
 * A time without requests: deliveries wait on record. `until`: absent until it is resumed, if it has no end. `perSecond`: how
 * fast what waited is sent afterwards. `version`: of its last change; the operation that ends the waits carries it. Times
 * are milliseconds since the epoch.
 */
export const pauseSchema = z.object({
  from: z.number(),
  until: z.number().exactOptional(),
  perSecond: z.number().exactOptional(),
  version: z.number(),
});

export type Pause = z.infer<typeof pauseSchema>;

/** A queue or a subscription. `pauses`: the newest last. */
export type Pausable = { pauses?: readonly Pause[] | undefined };

/** Pauses that are kept: a failing subscription does not age during them. */
const MAX_PAUSES = 10;

/** Requests a second after a pause, where neither the caller nor `max_per_second` says. */
export const DEFAULT_RESUME_PER_SECOND = 100;

export function findLastPause(of: Pausable | undefined): Pause | undefined {
  return of?.pauses?.at(-1);
}

/** The pause in force. Its beginning is not compared: clocks differ. */
export function findPause(of: Pausable | undefined, now: number): Pause | undefined {
  const last = findLastPause(of);
  return last === undefined || (last.until !== undefined && last.until <= now) ? undefined : last;
}

export type PauseInForce = { pause: Pause; by: PausedBy };

/** Why a subscription gets no requests now. A queue pauses all its subscriptions. */
export function findPauseInForce(
  { queue, subscription }: { queue: Pausable | undefined; subscription: Pausable | undefined },
  now: number,
): PauseInForce | undefined {
  const ofQueue = findPause(queue, now);
  if (ofQueue !== undefined) return { pause: ofQueue, by: 'queue' };
  const own = findPause(subscription, now);
  return own && { pause: own, by: 'subscription' };
}

/** Paused from now on; a pause in force gets another end. `until`: undefined for none. */
export function pause<Of extends Pausable>(
  of: Of,
  { now, until }: { now: number; until: number | undefined },
): Of & { pauses: Pause[] } {
  const { pauses = [] } = of;
  const current = findPause(of, now);
  const changed: Pause = {
    from: current?.from ?? now,
    version: now,
    ...(until !== undefined && { until }),
  };
  const earlier = current === undefined ? pauses : pauses.slice(0, -1);
  return { ...of, pauses: [...earlier, changed].slice(-MAX_PAUSES) };
}

/**
 * Ends the pause in force. After one that has ended, what still waits is sent at the new rate from now on. Unchanged
 * where there never was one.
 */
export function resume<Of extends Pausable>(
  of: Of,
  { now, perSecond }: { now: number; perSecond: number | undefined },
): Of {
  return withLastPause(of, ({ from, until = now }) => ({
    from,
    until: Math.min(until, now),
    version: now,
    ...(perSecond !== undefined && { perSecond }),
  }));
}

/**
 * What is restored at `now`, its last pause under a new version: an operation from before the deletion leaves it to the new
 * one. Two would send what waits at twice the rate.
 */
export function renewPause<Of extends Pausable>(of: Of, now: number): Of {
  return withLastPause(of, (last) => ({ ...last, version: now }));
}

function withLastPause<Of extends Pausable>(of: Of, change: (last: Pause) => Pause): Of {
  const last = findLastPause(of);
  return last === undefined ? of : { ...of, pauses: [...(of.pauses ?? []).slice(0, -1), change(last)] };
}

/** How long queue or subscription were paused in the given time, in milliseconds. What both share counts once. */
export function sumOfPauses(of: readonly (Pausable | undefined)[], since: number, now: number): number {
  const spans = of
    .flatMap((one) => one?.pauses ?? [])
    .map(({ from, until = now }) => ({ from: Math.max(from, since), until: Math.min(until, now) }))
    .toSorted((one, other) => one.from - other.from);
  let [total, end] = [0, since];
  for (const { from, until } of spans) {
    total += Math.max(0, until - Math.max(from, end));
    end = Math.max(end, until);
  }
  return total;
}

export type JudgedPause =
  /** It changed since. */
  | { kind: 'superseded' }
  /** The change that an operation was sent for is not on record, and may never be. */
  | { kind: 'unwritten' }
  | { kind: 'in_force'; pause: Pause }
  /** Without `pause`: queue or subscription are gone, or never were paused. */
  | { kind: 'ended'; pause?: Pause };

/** What became of the pause that had this version. */
export function judgePause(of: Pausable | undefined, version: number, now: number): JudgedPause {
  const last = findLastPause(of);
  if (last === undefined) return { kind: 'ended' };
  if (last.version !== version) return { kind: last.version > version ? 'superseded' : 'unwritten' };
  const kind = findPause(of, now) === undefined ? 'ended' : 'in_force';
  return { kind, pause: last };
}
