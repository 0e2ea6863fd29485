import { build } from 'esbuild';
import { expect, it } from 'vitest';

const root = new URL('../../../', import.meta.url).pathname;

/** Blank lines, comments, imports, and constants computed from constants. */
const WITHOUT_EFFECT = /^(?:$|\/\/ |import |var [A-Z_]+ = [A-Z_\d ()+*/e-]+;$)/;

/** The packages that `import 'posthaste/…'` loads, and the statements that it runs itself: esbuild drops all others. */
const importing = async (entry: string) => {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `import 'posthaste/${entry}'`, resolveDir: root },
    bundle: true,
    external: ['@aws-sdk/*', 'standardwebhooks', 'zod'],
    format: 'esm',
    platform: 'node',
    metafile: true,
    write: false,
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  const code = outputFiles.map(({ text }) => text).join('');
  return {
    packages: imports.map(({ path }) => path),
    statements: code.split('\n').filter((line) => !WITHOUT_EFFECT.test(line)),
  };
};

it.each([
  ['client', '@aws-sdk/client-sqs'],
  ['verify', 'standardwebhooks'],
])('posthaste/%s imports no package but %s, and does nothing when it is imported', async (entry, name) => {
  expect(await importing(entry)).toEqual({ packages: [name], statements: [] });
});
