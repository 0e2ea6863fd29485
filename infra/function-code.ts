import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';

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
          loadBundling().buildFunction(name, outdir);
          return true;
        },
      },
    },
  });
}

type Bundling = { readonly buildFunction: (name: string, folder: string) => void };

/** Loads esbuild late, and without an import that TypeScript follows: the package contains neither. */
function loadBundling(): Bundling {
  return createRequire(import.meta.url)('./bundling.ts') as Bundling;
}
