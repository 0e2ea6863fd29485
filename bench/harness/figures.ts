import * as z from 'zod';

export function sumOf<T>(all: readonly T[], value: (one: T) => number): number {
  return all.reduce((total, one) => total + value(one), 0);
}

/** NaN of nothing. */
export function meanOf<T>(all: readonly T[], value: (one: T) => number): number {
  return sumOf(all, value) / all.length;
}

/** Ignores single rounds that other work on the machine disturbed. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  const [below = Number.NaN, above = Number.NaN] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
  return (below + above) / 2;
}

/** By nearest rank; `part` in (0, 1]. NaN of nothing. */
export function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(part * values.length) - 1] ?? Number.NaN;
}

export type Quantiles = { p50: number; p95: number; p99: number; most: number };

export function quantilesOf(values: readonly number[]): Quantiles {
  return {
    p50: quantile(values, 0.5),
    p95: quantile(values, 0.95),
    p99: quantile(values, 0.99),
    most: quantile(values, 1),
  };
}

/** A figure of several rounds. */
export type Spread = { median: number; least: number; most: number };

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}

const ratio = z.object({ name: z.string(), ratio: z.number(), tolerance: z.number().positive() });

export type Ratio = z.infer<typeof ratio>;

const result = z.object({ ratios: z.array(ratio).min(1) });

/** The figures that are compared between commits. */
export function ratiosIn(json: string): readonly Ratio[] {
  return result.parse(JSON.parse(json)).ratios;
}

export type Compared = { name: string; kept: number; now: number; tolerance: number; ok: boolean };

/**
 * Compares ratios with the kept ones. `ok` is false for a ratio above the kept one by more than its tolerance, a part of that,
 * and for a ratio that was not measured.
 */
export function compared(kept: readonly Ratio[], now: readonly Ratio[]): readonly Compared[] {
  return kept.map(({ name, ratio: was, tolerance }) => {
    const found = now.find((candidate) => candidate.name === name)?.ratio ?? Number.NaN;
    return { name, kept: was, now: found, tolerance, ok: found <= was * (1 + tolerance) };
  });
}
