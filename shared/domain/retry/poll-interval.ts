/** Seconds. `gradualDecrease`: a message halves the interval, never under the floor, instead of resetting it. */
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

/** A value: poll, wait `wait` seconds if nothing was found, go on with what `afterEmpty` or `afterMessage` answers. */
export type PollInterval = {
  wait: number;
  afterEmpty: () => PollInterval;
  afterMessage: () => PollInterval;
};

export class InvalidPollInterval extends Error {
  override readonly name = 'InvalidPollInterval';
}

/**
 * The simple capped exponential back-off of a poller, at its floor to begin with. Having found nothing so
 * far, it waits 1, 2, 4, 8, 16, 32, 60, 60 s and so on with the default options.
 * @throws InvalidPollInterval when the options are not finite numbers with 0 < floor ≤ ceiling and exponent ≥ 1.
 */
export function pollInterval(options: PollIntervalOptions = {}): PollInterval {
  const { floor = 1, ceiling = 60, exponent = 2, gradualDecrease = false } = options;
  refuseNonsense({ floor, ceiling, exponent });
  const at = (wait: number): PollInterval => ({
    wait,
    afterEmpty: () => at(Math.min(ceiling, wait * exponent)),
    afterMessage: () => at(gradualDecrease ? Math.max(floor, wait / 2) : floor),
  });
  return at(floor);
}

function refuseNonsense({
  floor,
  ceiling,
  exponent,
}: {
  floor: number;
  ceiling: number;
  exponent: number;
}): void {
  // Comparisons written so that NaN fails them.
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
