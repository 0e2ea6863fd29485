/** The value in the middle: one round that met somebody else's work says nothing. */
export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  const [below = Number.NaN, above = Number.NaN] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
  return (below + above) / 2;
};

/** By nearest rank; `part` in (0, 1]. NaN of nothing. */
export const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(part * values.length) - 1] ?? Number.NaN;

/** A figure of several rounds. */
export type Spread = { median: number; least: number; most: number };

export const spreadOf = (values: readonly number[]): Spread => ({
  median: median(values),
  least: Math.min(...values),
  most: Math.max(...values),
});
