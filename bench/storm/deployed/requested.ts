import { Problem } from '../../../local/install/problem.mjs';
import { pollUntil } from '../../../local/poll-until.ts';
import type { StormySystem } from './stormy-system.ts';

const PATIENCE_MS = 120_000;
const INTERVAL = { floor: 0.2, ceiling: 0.5 };

/** Waits until so many of something have come. @throws Problem when they do not */
export const requested = async (
  { signal }: Pick<StormySystem, 'signal'>,
  wanted: number,
  came: () => number,
): Promise<void> => {
  const look = () => Promise.resolve(came() >= wanted ? true : undefined);
  if ((await pollUntil(look, { withinMs: PATIENCE_MS, interval: INTERVAL, signal })) === undefined)
    throw new Problem(`Of ${wanted} requests subscribers got ${came()} in ${PATIENCE_MS / 1000} s.`);
};
