import { inSeconds } from '../local/install/progress.mjs';
import { buildPackage } from './build.ts';
import { checkConsumers } from './check-consumers.ts';
import { checkContents } from './contents.ts';
import { runProgram } from './run-program.ts';

/** Packs Posthaste and judges the tarball as it will be installed. `--update` accepts a changed public API. */
async function main(options: readonly string[]): Promise<void> {
  const packed = await buildPackage();
  const tarball = packed.filename;
  console.log(`Packed ${tarball} (${inSeconds(performance.now())})`);
  await Promise.all([
    judge('contents', () => checkContents(packed)),
    judge('consumers', () => checkConsumers(tarball)),
    judge('public API', () => runProgram(process.execPath, ['package/api-reports.ts', ...options])),
    judge('publint', () => runProgram('publint', ['run', tarball, '--strict'])),
    // CommonJS gets an ES module, which Node loads since 22.12.
    judge('attw', () =>
      runProgram('attw', [tarball, '--profile=node16', '--ignore-rules=cjs-resolves-to-esm', '--no-color']),
    ),
  ]);
}

/** Prints what a gate returns, or why it failed. */
async function judge(gate: string, work: () => string | Promise<string>): Promise<void> {
  const start = performance.now();
  const say = (text: string) => {
    console.log(`\n${gate} (${inSeconds(performance.now() - start)})\n${text.trim()}`);
  };
  try {
    say(await work());
  } catch (error) {
    process.exitCode = 1;
    say(`FAILED: ${error instanceof Error ? error.message : String(error)}`);
  }
}

await main(process.argv.slice(2));
