import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Problem } from '../local/install/problem.mjs';
import { print, runCommand, say } from './harness/command.ts';
import { compared, ratiosIn, type Compared } from './harness/figures.ts';

/** Runs each bench with a kept result, and reports ratios that became worse. */

const RESULTS = new URL('results/', import.meta.url);

/** Returns the exit status: 0; 1 where a ratio is worse; 2 where a bench could not measure. */
async function check(signal: AbortSignal): Promise<number> {
  const lines: (Compared & { bench: string })[] = [];
  for (const file of await readdir(RESULTS)) {
    const bench = basename(file, '.json');
    const kept = ratiosIn(await readFile(new URL(file, RESULTS), 'utf8'));
    say(`Running bench:${bench}`);
    const now = ratiosIn(await outputOf(bench, signal));
    lines.push(...compared(kept, now).map((line) => ({ bench, ...line })));
  }
  print({ ratios: lines.map(({ ok, ...line }) => ({ ...line, verdict: ok ? '' : 'worse' })) });
  return lines.every(({ ok }) => ok) ? 0 : 1;
}

/** @throws Problem when the bench could not measure */
async function outputOf(bench: string, signal: AbortSignal): Promise<string> {
  const script = fileURLToPath(new URL(`${bench}/${bench}.ts`, import.meta.url));
  const running = promisify(execFile)(process.execPath, [script, '--json', '--dry'], { signal });
  running.child.stderr?.pipe(process.stderr);
  try {
    return (await running).stdout;
  } catch {
    signal.throwIfAborted();
    throw new Problem(`bench:${bench} could not measure.`);
  }
}

process.exitCode = await runCommand(check);
