import { createInterface } from 'node:readline/promises';
import { Problem } from '../../local/install/problem.mjs';
import type { Terminal } from '../terminal.ts';

/** Asks on the terminal whether to go on. The end of the input, or an abort, is a no. */
export async function isConfirmed(
  question: string,
  { stdin, stderr }: Pick<Terminal, 'stdin' | 'stderr'>,
  signal: AbortSignal,
): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  const closed = new AbortController();
  lines.once('close', () => {
    closed.abort();
  });
  try {
    const answer = await lines.question(`${question} [y/N] `, {
      signal: AbortSignal.any([signal, closed.signal]),
    });
    return /^y(?:es)?$/i.test(answer.trim());
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') return false;
    throw error;
  } finally {
    lines.close();
  }
}

/** @throws Problem unless a person can be asked */
export function checkTerminal({ stdin }: Pick<Terminal, 'stdin'>, what: string): void {
  if (stdin.isTTY !== true) throw new Problem(`${what} needs --yes where no terminal can be asked.`);
}
