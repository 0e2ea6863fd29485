const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** Seconds, to the second: 1 d 2 h 3 min 4 s. */
export const inWords = (seconds: number): string => {
  let rest = Math.round(seconds);
  const parts = UNITS.flatMap(([unit, size]) => {
    const whole = Math.floor(rest / size);
    rest -= whole * size;
    return whole === 0 ? [] : [`${whole} ${unit}`];
  });
  return parts.length === 0 ? '0 s' : parts.join(' ');
};
