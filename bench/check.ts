import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Problem } from '../local/install/problem.mjs';
import { runCommand, say } from './harness/command.ts';
import { compared, ratiosIn, type Compared, type Ratio } from './harness/figures.ts';
import { textOf } from './harness/text.ts';

/** Runs every bench that has a kept result, and says whether one of its ratios has become worse. */

const RESULTS = new URL('results/', import.meta.url);

/** The exit status: 0; 1 where a ratio is worse; 2 where nothing could be measured. */
async function check(signal: AbortSignal): Promise<number> {
  const benches = (await readdir(RESULTS))
    .filter((file) => file.endsWith('.json'))
    .map((file) => basename(file, '.json'));
  const lines: (Compared & { bench: string })[] = [];
  for (const bench of benches) {
    const kept = ratiosIn(JSON.parse(await readFile(new URL(`${bench}.json`, RESULTS), 'utf8')));
    say(`Running bench:${bench}`);
    const now = await measured(bench, signal);
    lines.push(...compared(kept, now).map((line) => ({ bench, ...line })));
  }
  const beside = lines.map(({ ok, ...line }) => ({ ...line, verdict: ok ? '' : 'worse' }));
  process.stdout.write(`${textOf({ 'Ratios, beside those that are kept': beside })}\n`);
  return lines.every(({ ok }) => ok) ? 0 : 1;
}

/** @throws Problem when the bench could not measure */
async function measured(bench: string, signal: AbortSignal): Promise<readonly Ratio[]> {
  const script = fileURLToPath(new URL(`${bench}/${bench}.ts`, import.meta.url));
  const child = spawn(process.execPath, [script, '--json', '--dry'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    signal,
  });
  const [answer] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (child.exitCode !== 0) throw new Problem(`bench:${bench} could not measure.`);
  return ratiosIn(JSON.parse(answer));
}

process.exitCode = await runCommand(check);
