import { basename, dirname } from 'node:path';
import { build, type BuildOptions, type Metafile } from 'esbuild';
import { projectRoot } from '../../local/install/paths.mjs';
import { bundling } from '../../infra/bundling.ts';

export const functionNames = [
  'dispatch',
  'deliver',
  'reconcile',
  'operate',
  'api',
  'secrets',
  'portal',
] as const;

export type FunctionName = (typeof functionNames)[number];

/** Differences from the deployed bundle. */
type Substitutes = Pick<BuildOptions, 'alias' | 'banner' | 'define' | 'splitting'>;

/** In bytes. */
export type BundleSize = {
  /** Code loaded at a cold start. */
  start: number;
  /** All code, including what is loaded on demand. */
  whole: number;
};

/** Bundles a function as its deployment does. The first file is `outfile`; the others are in the same folder. */
export const bundle = async (
  entry: URL,
  outfile: string,
  substitutes: Substitutes = {},
): Promise<BundleSize> => {
  const { metafile } = await build({
    ...bundling,
    ...substitutes,
    absWorkingDir: projectRoot,
    entryPoints: { [basename(outfile, '.mjs')]: entry.pathname },
    outdir: dirname(outfile),
    metafile: true,
    logLevel: 'error',
  });
  return sizeOf(metafile, basename(outfile));
};

/** The files of a build that are loaded with the entry `first`. */
export const filesAtStart = (outputs: Metafile['outputs'], first: string): Set<string> => {
  const atStart = new Set(Object.keys(outputs).filter((file) => basename(file) === first));
  // The loop also visits files added during iteration.
  for (const file of atStart)
    for (const { path, kind } of outputs[file]?.imports ?? [])
      if (kind === 'import-statement' && path in outputs) atStart.add(path);
  return atStart;
};

const sizeOf = ({ outputs }: Metafile, first: string): BundleSize => {
  const code = Object.entries(outputs).filter(([file]) => file.endsWith('.mjs'));
  const atStart = filesAtStart(outputs, first);
  const bytes = (files: typeof code): number => files.reduce((total, [, output]) => total + output.bytes, 0);
  return { start: bytes(code.filter(([file]) => atStart.has(file))), whole: bytes(code) };
};
