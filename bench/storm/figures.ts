/** A request as its subscriber saw it. Milliseconds since the epoch. */
export type Request = { id: string; at: number; answeredAt: number; statusCode: number };

/** A message that failed once: when it was due again, and the requests after the first. */
export type Retried = { dueAt: number; retries: readonly Request[] };

/**
 * What became of messages that were to fail once. `delayMs`: from the answer to a first request to when it is due again. A
 * message that nobody was asked about at all is due from the beginning, and lost.
 */
export function retriedOf(
  ids: readonly string[],
  requests: readonly Request[],
  delayMs: number,
): readonly Retried[] {
  const byMessage = Map.groupBy(requests, ({ id }) => id);
  return ids.map((id) => {
    const [first, ...retries] = byMessage.get(id) ?? [];
    return { dueAt: first === undefined ? -Infinity : first.answeredAt + delayMs, retries };
  });
}

export function firstDueAt(all: readonly Retried[]): number {
  return all.reduce((first, { dueAt }) => Math.min(first, dueAt), Infinity);
}

/** How retries were made. Seconds from when the first of them was due. */
export type Drain = {
  retries: number;
  /** When the last was due. */
  dueWithin: number;
  /** When the last was answered, and when it would have been by making them at `perSecond` as they become due. */
  seconds: number;
  idealSeconds: number;
  perSecond: number;
  /** Requests within the fullest second, and within the fullest ten by ten. */
  mostInOneSecond: number;
  mostInTenSeconds: number;
  /** What must not be: messages without a success, and requests before their time. */
  lost: number;
  early: number;
};

const SECOND = 1_000;

export function drainOf(all: readonly Retried[], perSecond: number): Drain {
  const retries = all.flatMap((message) => message.retries);
  const due = all.map(({ dueAt }) => dueAt).toSorted((one, other) => one - other);
  const times = retries.map(({ at }) => at);
  const since = (at: number): number => (at - firstDueAt(all)) / SECOND;
  return {
    retries: retries.length,
    dueWithin: since(due.at(-1) ?? Number.NaN),
    seconds: since(retries.reduce((latest, { answeredAt }) => Math.max(latest, answeredAt), -Infinity)),
    // Made one after another, and never resting while some are due.
    idealSeconds: since(due.reduce((done, dueAt) => Math.max(done, dueAt) + SECOND / perSecond, -Infinity)),
    perSecond,
    mostInOneSecond: mostWithin(times, SECOND),
    mostInTenSeconds: mostWithin(times, 10 * SECOND) / 10,
    lost: all.filter((message) => !message.retries.some(isSuccess)).length,
    early: all.flatMap(({ dueAt, retries: made }) => made.filter(({ at }) => at < dueAt)).length,
  };
}

function isSuccess({ statusCode }: Request): boolean {
  return statusCode >= 200 && statusCode < 300;
}

/** The most times that fall within a window of that length, wherever it is laid. */
export function mostWithin(times: readonly number[], windowMs = SECOND): number {
  const sorted = times.toSorted((one, other) => one - other);
  let [most, first] = [0, 0];
  for (const [index, time] of sorted.entries()) {
    while (time - (sorted[first] ?? time) >= windowMs) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}
