import { build } from 'esbuild';
import { projectRoot } from '../cli/local/install/paths.mjs';
import { bundling } from '../infra/bundling.ts';

/** What in the bundles stands in place of something else, or is left out of it. */
type Substitutes = { alias: Record<string, string>; define: Record<string, string>; external: string[] };

/**
 * Makes one file of a function as its deployment does (NodejsFunction of CDK, with the SDK bundled).
 * @param substitutes default: as in its deployment
 */
export const bundle = async (
  entry: URL,
  outfile: string,
  substitutes: Substitutes = bundling,
): Promise<void> => {
  const { banner, ...options } = bundling;
  await build({
    ...options,
    alias: substitutes.alias,
    define: substitutes.define,
    external: substitutes.external,
    absWorkingDir: projectRoot,
    entryPoints: [entry.pathname],
    outfile,
    banner: { js: banner },
    bundle: true,
    platform: 'node',
    format: 'esm',
    sourcemap: true,
    logLevel: 'error',
  });
};
