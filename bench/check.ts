import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { INTERRUPTED, untilInterrupted } from '../cli/interruption.ts';
import { Problem } from '../local/install/problem.mjs';
import { tableLines } from '../cli/output/table.ts';
import { compared, ratiosIn, type Compared, type Ratio } from './harness/figures.ts';

/** Runs every bench that has a kept result, and says whether one of its ratios has become worse. */

const RESULTS = new URL('results/', import.meta.url);

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** @throws Problem when the bench could not measure */
const measured = async (bench: string, signal: AbortSignal): Promise<readonly Ratio[]> => {
  const script = fileURLToPath(new URL(`${bench}/${bench}.ts`, import.meta.url));
  const child = spawn(process.execPath, [script, '--json', '--dry'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    signal,
  });
  const [answer] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (child.exitCode !== 0) throw new Problem(`bench:${bench} could not measure.`);
  return ratiosIn(JSON.parse(answer));
};

const textOf = (lines: readonly (Compared & { bench: string })[]): string =>
  tableLines(
    [
      { head: 'bench' },
      { head: 'ratio of' },
      { head: 'kept', align: 'right' },
      { head: 'now', align: 'right' },
      { head: 'tolerance', align: 'right' },
      { head: '' },
    ],
    lines.map(({ bench, name, kept, now, tolerance, ok }) => [
      bench,
      name,
      kept.toFixed(2),
      Number.isNaN(now) ? 'none' : now.toFixed(2),
      `${(100 * tolerance).toFixed(0)} %`,
      ok ? '' : 'worse',
    ]),
  ).join('\n');

/** The exit status: 0; 1 where a ratio is worse; 2 where nothing could be measured. */
const check = async (signal: AbortSignal): Promise<number> => {
  const benches = (await readdir(RESULTS).catch(() => []))
    .filter((file) => file.endsWith('.json'))
    .map((file) => basename(file, '.json'));
  if (benches.length === 0) throw new Problem('No bench has a result in bench/results.');
  const lines: (Compared & { bench: string })[] = [];
  for (const bench of benches) {
    const kept = ratiosIn(JSON.parse(await readFile(new URL(`${bench}.json`, RESULTS), 'utf8')));
    say(`Running bench:${bench}`);
    const now = await measured(bench, signal);
    lines.push(...compared(kept, now).map((line) => ({ bench, ...line })));
  }
  process.stdout.write(`${textOf(lines)}\n`);
  return lines.every(({ ok }) => ok) ? 0 : 1;
};

const run = async (): Promise<number> => {
  if (process.argv.length > 2) {
    say('usage: npm run bench:check');
    return 2;
  }
  try {
    return await untilInterrupted(check);
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') {
      say('Interrupted.');
      return INTERRUPTED;
    }
    if (!(error instanceof Problem)) throw error;
    say(error.message);
    return 2;
  }
};

process.exitCode = await run();
