/** What a message does to the interval: back to the floor, or halved but not below the floor. */
export const POLL_DECREASES = ['reset', 'gradual'] as const;
export type PollDecrease = (typeof POLL_DECREASES)[number];

/** Seconds. */
export type PollIntervalOptions = {
  /** @default 1 */
  floor?: number;
  /** @default 60 */
  ceiling?: number;
  /** @default 2 */
  exponent?: number;
  /** @default 'reset' */
  decrease?: PollDecrease;
};

/**
 * An immutable value: poll; if nothing was found, sleep `wait` seconds and continue with `afterEmpty`; otherwise
 * continue with `afterMessage`.
 */
export type PollInterval = {
  /** Seconds. */
  wait: number;
  afterEmpty: () => PollInterval;
  afterMessage: () => PollInterval;
};

/**
 * Capped exponential back-off of a poller, starting at its floor: without messages it waits 1, 2, 4, 8, 16, 32, 60,
 * 60 s and so on by default. The options are finite, with 0 < floor ≤ ceiling and exponent ≥ 1.
 */
export function pollInterval(options: PollIntervalOptions = {}): PollInterval {
  const { floor = 1, ceiling = 60, exponent = 2, decrease = 'reset' } = options;
  const at = (wait: number): PollInterval => ({
    wait,
    afterEmpty: () => at(Math.min(ceiling, wait * exponent)),
    afterMessage: () => at(decrease === 'gradual' ? Math.max(floor, wait / 2) : floor),
  });
  return at(floor);
}

/**
 * What a look came to. After `empty` and `failed` the poller sleeps and the interval grows. `changed` resets or shrinks
 * it before the sleep, `message` without one. `woken`: the sleep ended early, because there is work elsewhere.
 */
export type PollResult = 'message' | 'changed' | 'empty' | 'failed' | 'woken';

/** A change of the interval as text: "empty: slept 4 s, next 8 s", "message: interval 1 s". */
export function pollTrace(found: PollResult, before: PollInterval, after: PollInterval): string {
  return found === 'empty' || found === 'failed'
    ? `${found}: slept ${before.wait} s, next ${after.wait} s`
    : `${found}: interval ${after.wait} s`;
}
