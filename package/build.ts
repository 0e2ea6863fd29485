import { cpSync, globSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { build as buildPage } from 'vite';
import { buildFunction } from '../infra/bundling.ts';
import { projectRoot } from '../local/install/paths.mjs';
import { collectLicences } from './licences.ts';
import { packageManifest } from './manifest.ts';
import { type Packed, pack, staged, runProgram } from './run-program.ts';

/** Files that are read as they are. */
const COPIED = ['LICENSE', 'README.md', 'cdk.json', 'local/requirements.txt', 'local/*.py'];

/** Builds the package into `.local/package/` and packs it. */
export async function buildPackage(): Promise<Packed> {
  mkdirSync(staged, { recursive: true });
  // The folder itself stays: `npm publish` runs this in it.
  for (const name of readdirSync(staged)) rmSync(join(staged, name), { recursive: true });
  // The files that the entry points of each configuration import. Types are checked by lint.
  const [bundled] = await Promise.all([
    assets(),
    runProgram('tsc', ['-p', 'package/tsconfig.json']),
    runProgram('tsc', ['-p', 'package/tsconfig.command.json']),
  ]);
  for (const file of globSync(COPIED, { cwd: projectRoot })) {
    mkdirSync(dirname(join(staged, file)), { recursive: true });
    cpSync(join(projectRoot, file), join(staged, file));
  }
  writeFileSync(join(staged, 'THIRD-PARTY-LICENSES.txt'), collectLicences(projectRoot, bundled));
  writeFileSync(join(staged, 'package.json'), packageManifest(projectRoot, staged));
  return pack();
}

/** Returns the files that are in the bundles. */
async function assets(): Promise<string[]> {
  const handlers = globSync('functions/*/handler.ts', { cwd: projectRoot });
  const functions = handlers.map((file) => basename(dirname(file)));
  return [
    ...functions.flatMap((name) => buildFunction(name, join(staged, 'assets/functions', name))),
    ...(await buildConsole()),
  ];
}

async function buildConsole(): Promise<string[]> {
  const built = await buildPage({
    configFile: join(projectRoot, 'console/vite.config.ts'),
    configLoader: 'native',
    logLevel: 'error',
    build: { outDir: join(staged, 'assets/console') },
  });
  if (!('output' in built)) throw new TypeError('Vite did not return one build');
  return built.output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
}

if (import.meta.main) console.log((await buildPackage()).filename);
