import { MOST_ON_A_LINE } from '../../../../shared/adapters/log/first-successes.ts';
import type { Jobs } from './jobs.ts';

/** Of a message, on average: lines for several first successes, and those that have a line each. */
export type SuccessLines = { shared: number; alone: number };

/**
 * First successes of a message that one invocation makes share a line, and the jobs of a message are sent together, so an
 * invocation with several jobs is taken to have several of the same message.
 */
export function linesOfMessage({ chunks, members, singles }: Jobs, jobsInInvocation: number): SuccessLines {
  const together = Math.min(chunks + singles, jobsInInvocation);
  if (together < 2) return { shared: linesFor(members, chunks), alone: singles };
  return { shared: linesFor(members + singles, (chunks + singles) / together), alone: 0 };
}

function linesFor(successes: number, invocations: number): number {
  return invocations === 0 ? 0 : invocations * Math.ceil(successes / invocations / MOST_ON_A_LINE);
}
