import * as z from 'zod';

const ratio = z.object({ name: z.string(), ratio: z.number(), tolerance: z.number().positive() });

export type Ratio = z.infer<typeof ratio>;

const result = z.union([z.object({ ratios: z.array(ratio).min(1) }), ratio]);

/** What of a bench's result is compared from one commit to another: `ratios`, or the result's own where it is one. */
export const ratiosIn = (json: unknown): readonly Ratio[] => {
  const parsed = result.parse(json);
  return 'ratios' in parsed ? parsed.ratios : [parsed];
};

export type Compared = { name: string; kept: number; now: number; tolerance: number; ok: boolean };

/**
 * How ratios stand to those that are kept. One is worse when it is above the kept one by more than its tolerance, which is
 * a part of that; one that is not measured any more compares with nothing, and counts as worse.
 */
export const compared = (kept: readonly Ratio[], now: readonly Ratio[]): readonly Compared[] =>
  kept.map(({ name, ratio: was, tolerance }) => {
    const found = now.find((candidate) => candidate.name === name)?.ratio ?? Number.NaN;
    return { name, kept: was, now: found, tolerance, ok: found <= was * (1 + tolerance) };
  });
