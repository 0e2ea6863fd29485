import { isSuccess, type ChunkTransition } from '../../shared/domain/delivery/chunk.ts';
import type { ChunkResult } from '../../shared/ports/deliveries.ts';
import { replacing } from './sabotage.ts';

/** Counts what happens to chunks in all runs that use it. Changes nothing. */
export const chunkObserver = () => {
  const seen: Partial<Record<string, number>> = {};
  const count = (what: string): void => {
    seen[what] = (seen[what] ?? 0) + 1;
  };
  const noted = ({ expect: expected, change }: ChunkTransition, { kind }: ChunkResult): void => {
    count(`${expected.kind} ${kind}`);
    const { claim, states } = change;
    if (kind === 'written' && claim !== undefined && claim.members.length > 1) count('claimed for several');
    const successes = [...(states?.values() ?? [])].filter(isSuccess);
    if (kind === 'written' && successes.length > 1) count('recorded together');
  };
  const observing = replacing('chunks', (chunks) => ({
    write: async (transition) => {
      const result = await chunks.write(transition);
      noted(transition, result);
      return result;
    },
    takeOut: async (transition, delivery) => {
      const result = await chunks.takeOut(transition, delivery);
      count(`${transition.expect.kind === 'member' ? 'taken out' : 'taken out early'}: ${result}`);
      return result;
    },
  }));
  return { seen, observing };
};

/** Those of `wanted` that happened fewer than `least` times, which makes their checks meaningless. */
export const rareIn = (seen: Partial<Record<string, number>>, wanted: readonly string[], least = 20) =>
  wanted.filter((what) => (seen[what] ?? 0) < least).map((what) => `${what}: ${seen[what] ?? 0}`);
