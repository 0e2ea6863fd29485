import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type * as esbuild from 'esbuild';
import { buildPortalPage } from './portal-page.ts';

/** Build options of the functions. Tests and benchmarks use them too, so that they run what is deployed. */
export const bundling = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  mainFields: ['module', 'main'],
  // Drops names of functions and classes too: `keepNames` adds a call for every closure, a tenth of a delivery's CPU
  // time. Error classes set their name explicitly (checked by lint), and logged stacks refer to lines of the sources.
  minify: true,
  // In separate files that Node does not read, because that would slow every cold start. The logger maps stacks itself
  // (error-line.ts). Uncaught errors, such as a crash while the module loads, show lines of the bundle.
  sourcemap: true,
  sourcesContent: false,
  // Dynamic imports become separate files, so that a cold start does not load them.
  splitting: true,
  outExtension: { '.js': '.mjs' },
  chunkNames: 'part-[hash]',
  // The SDK asks for Web streams but gets Node's. Reading the global loads them, 2 ms of each cold start.
  define: { ReadableStream: 'undefined' },
  // The path is relative to the project folder.
  alias: { '@aws-sdk/credential-provider-node': './shared/adapters/lambda/credentials.ts' },
} satisfies esbuild.BuildOptions;

const project = fileURLToPath(new URL('..', import.meta.url));

/**
 * Builds a folder under `functions/` into this folder: `index.mjs`, its parts, and a source map for each. The bytes
 * depend on the sources alone: maps and names of parts contain paths from the place that esbuild believes to write to.
 * Returns the files that are in the build, by their paths in the project folder.
 */
export function buildFunction(name: string, folder: string): string[] {
  // Not imported: the package has no esbuild.
  const { buildSync } = createRequire(import.meta.url)('esbuild') as typeof esbuild;
  const { outputFiles, metafile } = buildSync({
    ...bundling,
    absWorkingDir: project,
    entryPoints: { index: `functions/${name}/handler.ts` },
    outdir: project,
    write: false,
    metafile: true,
  });
  mkdirSync(folder, { recursive: true });
  for (const { path, contents } of outputFiles) writeFileSync(join(folder, basename(path)), contents);
  if (name === 'portal') buildPortalPage(join(folder, 'page'));
  return Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs));
}

/** Functions built when the package was packed. Absent in the repository. */
const packed = fileURLToPath(new URL('../assets/functions/', import.meta.url));

const sources = fileURLToPath(new URL('../functions/', import.meta.url));

/** The bundle of a folder under `functions/`: from the package, or built here in the repository. */
export function functionCode(name: string): Code {
  return existsSync(packed) ? Code.fromAsset(`${packed}${name}`) : builtHere(name);
}

/** CDK's construct for Node.js would build a single file, so that each cold start would also load code for rare paths. */
function builtHere(name: string): Code {
  return Code.fromAsset(`${sources}${name}`, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      // Never used, because the local build succeeds or throws.
      image: DockerImage.fromRegistry('none'),
      local: {
        tryBundle: (outdir) => {
          buildFunction(name, outdir);
          return true;
        },
      },
    },
  });
}
