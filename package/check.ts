import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { projectRoot } from '../local/install/paths.mjs';
import { inSeconds } from '../local/install/progress.mjs';
import { buildPackage } from './build.ts';
import published from './manifest.json' with { type: 'json' };
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
  /^assets\/(console|functions\/portal\/page)\/(index\.html|assets\/[\w.-]+\.(js|css|svg))$/,
  /^(infra|client|shared|api-client)\/.+(\.js|\.d\.ts)$/,
  /^(functions|worker|cli|local)\/.+\.(js|mjs)$/,
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
  for (const file of files) sizes[findFolder(file.path)] = (sizes[findFolder(file.path)] ?? 0) + file.size;
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
function findFolder(path: string): string {
  const folders = path.split('/').slice(0, -1);
  return folders.slice(0, folders[0] === 'assets' ? 2 : 1).join('/') || 'top';
}

const sources = join(projectRoot, 'package/consumers');

/** What Node loads for each app. The last file synthesises. */
const APPS = {
  esm: ['--import=./esm/producer.ts', '--import=./esm/receiver.ts', 'esm/app.ts'],
  commonjs: ['--require=./commonjs/producer.cjs', '--require=./commonjs/receiver.cjs', 'commonjs/app.cjs'],
  parts: ['parts/app.ts'],
};

/**
 * Installs the tarball outside the repository, and type-checks and synthesises the apps of package/consumers there.
 * @throws Error for an app that fails, and when synthesis in the repository builds functions of other bytes
 */
async function checkConsumers(tarball: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-consumers-'));
  try {
    cpSync(sources, folder, { recursive: true });
    const [repository] = await Promise.all([
      synthesise('esm', { folder: sources, out: join(folder, 'repository') }),
      install(folder, tarball),
    ]);
    const [types, help, esm, commonjs, parts] = await Promise.all([
      runProgram(process.execPath, ['package/consumer-types.ts', folder]),
      runProgram(process.execPath, ['node_modules/.bin/posthaste', '--help'], { cwd: folder }),
      synthesise('esm', { folder }),
      synthesise('commonjs', { folder }),
      synthesise('parts', { folder }),
    ]);
    if (!isDeepStrictEqual(esm.bundles, repository.bundles))
      throw new Error(
        'The functions in the package and those that synthesis in the repository builds differ.',
      );
    const apps = Object.entries({ esm, commonjs, parts }).map(
      ([name, { resources, bundles }]) => `${name}: ${resources} resources, ${bundles.length} functions`,
    );
    return [types.trim(), ...apps, `posthaste --help: ${help.split('\n').length} lines`].join('\n');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const lockSchema = z.object({ packages: z.record(z.string(), z.object({ version: z.string() })) });

/**
 * Beside the oldest CDK that the package accepts, and otherwise in the versions of the repository: they are in npm's
 * cache, and do not change with what others publish.
 */
async function install(folder: string, tarball: string): Promise<void> {
  const { packages } = lockSchema.parse(jsonIn(join(projectRoot, 'package-lock.json')));
  const overrides: Record<string, string> = {};
  for (const [path, { version }] of Object.entries(packages)) {
    const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    if (name !== undefined && !/^(constructs|aws-cdk-lib|@aws-cdk\/.*)$/.test(name))
      overrides[name] = version;
  }
  const dependencies = {
    posthaste: `file:${tarball}`,
    '@aws-sdk/client-sqs': overrides['@aws-sdk/client-sqs'],
    '@types/node': overrides['@types/node'],
    // The oldest of a range such as `^2.190.0`.
    'aws-cdk-lib': published.peerDependencies['aws-cdk-lib'].replace('^', ''),
    constructs: published.peerDependencies.constructs.replace('^', ''),
  };
  const manifest = { private: true, type: 'module', dependencies, overrides };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  const args = ['install', '--prefer-offline', '--no-package-lock', '--no-audit', '--no-fund'];
  await runProgram('npm', args, { cwd: folder });
}

const templateSchema = z.object({ Resources: z.record(z.string(), z.unknown()) });
const assetsSchema = z.object({
  files: z.record(z.string(), z.object({ source: z.object({ packaging: z.string() }) })),
});

/**
 * Without a program on the path: neither esbuild nor a container can run. Without the CDK's own validation, which takes
 * most of the time: check:templates judges templates. Returns what is in the stack with the functions, `Shop`: folders of
 * functions are zipped, and are named by a hash of their content.
 */
async function synthesise(
  app: keyof typeof APPS,
  { folder, out = folder }: { folder: string; out?: string },
) {
  const cdkOut = join(out, `${app}.out`);
  const env = { PATH: '', CDK_OUTDIR: cdkOut, CDK_VALIDATION: 'false' };
  await runProgram(process.execPath, APPS[app], { cwd: folder, env });
  const { Resources } = templateSchema.parse(jsonIn(join(cdkOut, 'Shop.template.json')));
  const { files } = assetsSchema.parse(jsonIn(join(cdkOut, 'Shop.assets.json')));
  const bundles = Object.entries(files).filter(([, { source }]) => source.packaging === 'zip');
  return { resources: Object.keys(Resources).length, bundles: bundles.map(([hash]) => hash).toSorted() };
}

await main(process.argv.slice(2));
