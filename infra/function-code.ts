import { fileURLToPath } from 'node:url';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { buildSync } from 'esbuild';
import { bundling } from './bundling.ts';

const project = fileURLToPath(new URL('../', import.meta.url));

/**
 * The bundle of a folder under `functions/`, made on this machine. CDK's own construct for Node.js makes one file, in which
 * what only rare paths need is read at every start.
 */
export function functionCode(name: string): Code {
  return Code.fromAsset(`${project}functions/${name}`, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      // Never asked for: what is below always succeeds, or throws.
      image: DockerImage.fromRegistry('none'),
      local: {
        tryBundle: (outdir) => {
          buildSync({
            ...bundling,
            absWorkingDir: project,
            entryPoints: { index: `functions/${name}/handler.ts` },
            outdir,
          });
          return true;
        },
      },
    },
  });
}
