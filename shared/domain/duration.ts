/** Milliseconds in a minute. */
export const MINUTE_MS = 60 * 1000;

/** Milliseconds in a day. */
export const DAY_MS = 24 * 60 * 60 * 1000;

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** Formats seconds, rounded, as whole units: 1 d, 2 h, 3 min, 4 s. Empty for zero. */
export function inUnits(seconds: number): string[] {
  let rest = Math.round(seconds);
  return UNITS.flatMap(([unit, size]) => {
    const whole = Math.floor(rest / size);
    rest -= whole * size;
    return whole === 0 ? [] : [`${whole} ${unit}`];
  });
}
