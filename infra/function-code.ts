import { fileURLToPath } from 'node:url';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { buildSync } from 'esbuild';
import { bundling } from './bundling.ts';

const project = fileURLToPath(new URL('../', import.meta.url));

/**
 * The bundle of a folder under `functions/`, built locally. CDK's construct for Node.js would build a single file, so
 * that each cold start would also load code for rare paths.
 */
export function functionCode(name: string): Code {
  return Code.fromAsset(`${project}functions/${name}`, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      // Never used, because the local build succeeds or throws.
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
