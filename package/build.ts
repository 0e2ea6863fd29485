import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { build as bundle } from 'esbuild';
import { build as buildPage } from 'vite';
import { z } from 'zod';
import { bundling } from '../infra/bundling.ts';
import { localFolder, projectRoot } from '../local/install/paths.mjs';
import { licencesOf } from './licences.ts';
import { packageManifest } from './manifest.ts';

const run = promisify(execFile);

/** The package as a folder: the tree of the repository, compiled. */
export const staged = join(localFolder, 'package');

/** Files that are read as they are. */
const COPIED = ['LICENSE', 'README.md', 'local/requirements.txt', 'local/*.py'];

/** Builds the package into `.local/package/`, packs it, and returns the path of the tarball. */
export async function buildPackage(): Promise<string> {
  rmSync(staged, { recursive: true, force: true });
  const [bundled] = await Promise.all([
    assets(),
    compile('package/tsconfig.json'),
    compile('package/tsconfig.command.json'),
  ]);
  for (const file of globSync(COPIED, { cwd: projectRoot })) copy(file);
  writeFileSync(join(staged, 'THIRD-PARTY-LICENSES.txt'), licencesOf(projectRoot, bundled));
  writeFileSync(join(staged, 'package.json'), packageManifest(projectRoot, staged));
  return pack();
}

/** Returns the files that are in the bundles. */
async function assets(): Promise<string[]> {
  const functions = readdirSync(join(projectRoot, 'functions'));
  return (await Promise.all([...functions.map(bundleFunction), buildConsole()])).flat();
}

async function bundleFunction(name: string): Promise<string[]> {
  const { metafile } = await bundle({
    ...bundling,
    absWorkingDir: projectRoot,
    entryPoints: { index: `functions/${name}/handler.ts` },
    outdir: join(staged, 'assets/functions', name),
    metafile: true,
  });
  return Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs));
}

async function buildConsole(): Promise<string[]> {
  const built = await buildPage({
    configFile: join(projectRoot, 'console/vite.config.ts'),
    configLoader: 'native',
    logLevel: 'warn',
    build: { outDir: join(staged, 'assets/console') },
  });
  if (!('output' in built)) throw new TypeError('Vite did not return one build');
  return built.output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
}

/** Compiles the files that the entry points of a configuration import. Types are checked by lint. */
async function compile(configuration: string): Promise<void> {
  await run('tsc', ['-p', configuration], { cwd: projectRoot });
}

function copy(file: string): void {
  mkdirSync(dirname(join(staged, file)), { recursive: true });
  cpSync(join(projectRoot, file), join(staged, file));
}

const packedSchema = z.tuple([z.object({ filename: z.string() })]);

async function pack(): Promise<string> {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', localFolder];
  const { stdout } = await run('npm', args, { cwd: staged });
  const [{ filename }] = packedSchema.parse(JSON.parse(stdout));
  return join(localFolder, filename);
}

if (import.meta.main) console.log(await buildPackage());
