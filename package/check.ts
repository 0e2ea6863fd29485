import { join } from 'node:path';
import { z } from 'zod';
import { projectRoot } from '../local/install/paths.mjs';
import { inSeconds } from '../local/install/progress.mjs';
import { buildPackage } from './build.ts';
import { checkConsumers } from './check-consumers.ts';
import { jsonIn, type Packed, runProgram } from './run-program.ts';

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

/** Everything that may be in the package, so that a test, a source or a picture is noticed. */
const EXPECTED = [
  /^(LICENSE|README\.md|THIRD-PARTY-LICENSES\.txt|(package|cdk)\.json)$/,
  // The maps are for the logger (shared/adapters/log/error-line.ts).
  /^assets\/functions\/[a-z]+\/[\w-]+\.mjs(\.map)?$/,
  /^assets\/console\/(index\.html|assets\/[\w.-]+\.(js|css|svg))$/,
  /^(infra|client|shared)\/.+(\.js|\.d\.ts)$/,
  /^(functions|worker|api-client|cli|local)\/.+\.(js|mjs)$/,
  /^(cli\/commands\/plan\/\w+\.json|local\/(requirements\.txt|\w+\.py))$/,
];

/**
 * The sizes of the package and its parts, in kilobytes, each with the bound that package/size-bounds.json gives.
 * @throws Error for a file that does not belong in the package, a part that is over its bound, missing or unknown
 */
function checkContents({ size, files }: Packed): string {
  const bounds = z
    .record(z.string(), z.number())
    .parse(jsonIn(join(projectRoot, 'package/size-bounds.json')));
  const sizes: Record<string, number> = { tarball: size };
  for (const file of files) sizes[partOf(file.path)] = (sizes[partOf(file.path)] ?? 0) + file.size;
  const lines = [...new Set([...Object.keys(bounds), ...Object.keys(sizes)])].map((part) => {
    const [kilobytes, bound] = [Math.ceil((sizes[part] ?? 0) / 1000), bounds[part] ?? 0];
    const isRight = kilobytes > 0 && kilobytes <= bound;
    return { isRight, text: `${part} ${kilobytes} kB (at most ${bound})${isRight ? '' : ' WRONG'}` };
  });
  const surplus = files.filter(({ path }) => !EXPECTED.some((pattern) => pattern.test(path)));
  const text = [
    `${files.length} files, ${Math.ceil(files.reduce((sum, file) => sum + file.size, 0) / 1000)} kB unpacked`,
    ...lines.map((line) => line.text),
    ...surplus.map(({ path }) => `${path} does not belong in the package`),
  ].join('\n');
  if (surplus.length > 0 || lines.some(({ isRight }) => !isRight)) throw new Error(text);
  return text;
}

/** The folder of a file, below `assets` with the next one. */
function partOf(path: string): string {
  const folders = path.split('/').slice(0, -1);
  return folders.slice(0, folders[0] === 'assets' ? 2 : 1).join('/') || 'top';
}

await main(process.argv.slice(2));
