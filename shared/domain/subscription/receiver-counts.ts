/**
 * What a subscription's requests found. `deliveries` leaves out retries in the same invocation, so that one delivery's
 * quick retries count once. `answered`: neither refused nor down. A 503 with `Retry-After` is both refused and down.
 */
export type ReceiverCounts = {
  deliveries: number;
  requests: number;
  answered: number;
  refused: number;
  down: number;
};

export const NO_COUNTS: ReceiverCounts = { deliveries: 0, requests: 0, answered: 0, refused: 0, down: 0 };

export function sumOfCounts(one: ReceiverCounts, other: ReceiverCounts): ReceiverCounts {
  return {
    deliveries: one.deliveries + other.deliveries,
    requests: one.requests + other.requests,
    answered: one.answered + other.answered,
    refused: one.refused + other.refused,
    down: one.down + other.down,
  };
}

/** The counts of all function instances under one version of the pressure. `writes`: how many additions made them. */
export type CountingWindow = ReceiverCounts & { version: number; writes: number };

/** An instance adds its counts no more often. Milliseconds. */
export const ADD_EVERY_MS = 2_000;

/** A window is judged after this time if it has enough requests, and at the latest after the second. Milliseconds. */
const WINDOW_MS = 10_000;
const LONGEST_WINDOW_MS = 60_000;
const ENOUGH_REQUESTS = 50;

/** All instances together write no more often, apart from those that write in the same instant. */
const MAX_WRITES_PER_SECOND = 20;

/**
 * What an instance does with its counts: adds them, judges the window with them, keeps them for later, or drops them,
 * because others have judged the window.
 */
export type CountingStep = 'add' | 'judge' | 'keep' | 'drop';

/** `found`: the window as read. `ageMs`: of the window of `version`. */
export function countingStep(
  found: CountingWindow | undefined,
  version: number,
  { requests }: ReceiverCounts,
  ageMs: number,
): CountingStep {
  if (found !== undefined && found.version > version) return 'drop';
  const before = found?.version === version ? found : { requests: 0, writes: 0 };
  if (isComplete(before.requests + requests, ageMs)) return 'judge';
  return before.writes < MAX_WRITES_PER_SECOND * (1 + ageMs / 1_000) ? 'add' : 'keep';
}

function isComplete(requests: number, ageMs: number): boolean {
  return ageMs >= (requests >= ENOUGH_REQUESTS ? WINDOW_MS : LONGEST_WINDOW_MS);
}

/** Requests of so long ago say nothing about now: a window without traffic is not judged. */
export function isOutdated(ageMs: number): boolean {
  return ageMs >= 2 * LONGEST_WINDOW_MS;
}
