import { INTERRUPTED, untilInterrupted } from '../../cli/interruption.ts';
import { Problem } from '../../local/install/problem.mjs';

/** Runs the work of a command, and returns its exit status: 130 after Ctrl-C, `failed` if a Problem ends it. */
export async function runInterruptible(
  work: (signal: AbortSignal) => Promise<number>,
  { failed, say }: { failed: number; say: (line: string) => void },
): Promise<number> {
  try {
    return await untilInterrupted(work);
  } catch (error) {
    const isInterrupt = error instanceof Error && error.name === 'AbortError';
    if (!isInterrupt && !(error instanceof Problem)) throw error;
    say(isInterrupt ? 'Interrupted.' : error.message);
    return isInterrupt ? INTERRUPTED : failed;
  }
}
