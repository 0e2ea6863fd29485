import { quantile } from '../harness/figures.ts';

/** A request as its subscriber saw it. Milliseconds since the epoch. */
export type Request = { id: string; at: number; answeredAt: number; statusCode: number };

/** A message that failed once: when it was due again, and the requests after the first. */
export type Retried = { dueAt: number; retries: readonly Request[] };

/**
 * What became of messages that were to fail once. `dueAt`: when the next request is due, of the first. A message that nobody
 * was asked about at all is due from the beginning, and lost.
 */
export const retriedOf = (
  ids: readonly string[],
  requests: readonly Request[],
  dueAt: (first: Request) => number,
): readonly Retried[] => {
  const byMessage = Map.groupBy(requests, ({ id }) => id);
  return ids.map((id) => {
    const [first, ...retries] = byMessage.get(id) ?? [];
    return { dueAt: first === undefined ? -Infinity : dueAt(first), retries };
  });
};

export const firstDueAt = (all: readonly Retried[]): number =>
  all.reduce((first, { dueAt }) => Math.min(first, dueAt), Infinity);

/** What must not be: messages without a success, and requests before their time. */
export type Broken = { lost: number; early: number };

export const brokenIn = (all: readonly Retried[]): Broken => ({
  lost: all.filter(({ retries }) => !retries.some(isSuccess)).length,
  early: countedIn(all, ({ dueAt, retries }) => retries.filter(({ at }) => at < dueAt).length),
});

const isSuccess = ({ statusCode }: Request): boolean => statusCode >= 200 && statusCode < 300;

const countedIn = (all: readonly Retried[], count: (one: Retried) => number): number =>
  all.reduce((sum, one) => sum + count(one), 0);

/** How retries were made. Seconds from when the first of them was due. */
export type Drain = {
  retries: number;
  /** Those beyond one a message. */
  repeated: number;
  /** When the last was due. */
  dueWithin: number;
  /** When the last was answered, and when it would have been by making them at `perSecond` as they become due. */
  seconds: number;
  idealSeconds: number;
  perSecond: number;
  /** Requests within the fullest second, and within the fullest ten by ten. */
  mostInOneSecond: number;
  mostInTenSeconds: number;
};

/** @throws RangeError where nothing was tried again: there is nothing to say of it */
export const drainOf = (all: readonly Retried[], perSecond: number): Drain => {
  const retries = all.flatMap((message) => message.retries);
  if (retries.length === 0) throw new RangeError('Nothing was tried again.');
  const due = all.map(({ dueAt }) => dueAt).toSorted(ascending);
  const times = retries.map(({ at }) => at);
  const from = firstDueAt(all);
  const since = (at: number): number => (at - from) / SECOND;
  return {
    retries: retries.length,
    repeated: countedIn(all, (message) => Math.max(0, message.retries.length - 1)),
    dueWithin: since(due.at(-1) ?? Number.NaN),
    seconds: since(retries.reduce((latest, { answeredAt }) => Math.max(latest, answeredAt), -Infinity)),
    idealSeconds: since(madeAt(due, perSecond)),
    perSecond,
    mostInOneSecond: mostWithin(times, SECOND),
    mostInTenSeconds: mostWithin(times, 10 * SECOND) / 10,
  };
};

const SECOND = 1_000;

const ascending = (one: number, other: number): number => one - other;

/** When the last is made of what becomes due at these times, by one who makes so many a second and never rests while some are due. */
const madeAt = (sortedDue: readonly number[], perSecond: number): number =>
  sortedDue.reduce((done, dueAt) => Math.max(done, dueAt) + SECOND / perSecond, -Infinity);

/** The most times that fall within a window of that length, wherever it is laid. */
export const mostWithin = (times: readonly number[], windowMs: number): number => {
  const sorted = times.toSorted(ascending);
  let [most, first] = [0, 0];
  for (const [index, time] of sorted.entries()) {
    while (time - (sorted[first] ?? time) >= windowMs) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
};

/** From a message's being sent to its first request, in milliseconds. */
export type Waits = { messages: number; p50: number; p99: number };

export const waitsOf = (milliseconds: readonly number[]): Waits => ({
  messages: milliseconds.length,
  p50: quantile(milliseconds, 0.5),
  p99: quantile(milliseconds, 0.99),
});
