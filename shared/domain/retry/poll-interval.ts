/** Seconds. `gradualDecrease`: a message halves the interval, down to the floor, instead of resetting it. */
export type PollIntervalOptions = {
  /** @default 1 */
  floor?: number;
  /** @default 60 */
  ceiling?: number;
  /** @default 2 */
  exponent?: number;
  /** @default false */
  gradualDecrease?: boolean;
};

/**
 * An immutable value: poll, wait `wait` seconds if nothing was found, continue with the result of `afterEmpty` or
 * `afterMessage`.
 */
export type PollInterval = {
  wait: number;
  afterEmpty: () => PollInterval;
  afterMessage: () => PollInterval;
};

export class InvalidPollInterval extends Error {
  override readonly name = 'InvalidPollInterval';
}

/**
 * Capped exponential back-off of a poller, starting at its floor: without messages it waits 1, 2, 4, 8, 16, 32, 60,
 * 60 s and so on by default.
 * @throws InvalidPollInterval unless the options are finite numbers with 0 < floor ≤ ceiling and exponent ≥ 1.
 */
export function pollInterval(options: PollIntervalOptions = {}): PollInterval {
  const { floor = 1, ceiling = 60, exponent = 2, gradualDecrease = false } = options;
  validateOptions({ floor, ceiling, exponent });
  const at = (wait: number): PollInterval => ({
    wait,
    afterEmpty: () => at(Math.min(ceiling, wait * exponent)),
    afterMessage: () => at(gradualDecrease ? Math.max(floor, wait / 2) : floor),
  });
  return at(floor);
}

function validateOptions({
  floor,
  ceiling,
  exponent,
}: {
  floor: number;
  ceiling: number;
  exponent: number;
}): void {
  // NaN fails these comparisons.
  if (!(floor > 0)) throw new InvalidPollInterval(`floor must be a positive number of seconds, not ${floor}`);
  if (!(ceiling >= floor && ceiling < Infinity)) {
    throw new InvalidPollInterval(
      `ceiling must be a finite number of seconds, at least the floor ${floor}, not ${ceiling}`,
    );
  }
  if (!(exponent >= 1 && exponent < Infinity)) {
    throw new InvalidPollInterval(`exponent must be a finite number, at least 1, not ${exponent}`);
  }
}
