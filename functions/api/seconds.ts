import * as z from 'zod';

/** Ten years: longer is a typing error, and the time it leads to must stay one that a date can hold. */
export const MAX_TTL_SECONDS = 315_360_000;

export const seconds = (minimum: number, maximum: number) => {
  const rule = `must be an integer number of seconds from ${minimum} to ${maximum}`;
  return z.int(rule).min(minimum, rule).max(maximum, rule);
};
