import { basename } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { bundling } from '../../../infra/bundling.ts';
import { projectRoot } from '../../../local/install/paths.mjs';
import { filesAtStart, functionNames } from '../../support/bundle.ts';

const ON_DEMAND = [
  '@aws-sdk/client-eventbridge',
  '@aws-sdk/client-s3',
  '@aws-sdk/client-scheduler',
  // For routes of operators.
  'fast-json-patch',
  'oauth4webapi',
  're2js',
];

type Outputs = Awaited<ReturnType<typeof bundleAll>>['outputs'];

/** All functions in one build, which takes a third of five. */
const bundleAll = async () => {
  const { metafile, outputFiles } = await build({
    ...bundling,
    absWorkingDir: projectRoot,
    entryPoints: Object.fromEntries(functionNames.map((name) => [name, `functions/${name}/handler.ts`])),
    outdir: 'built',
    write: false,
    metafile: true,
  });
  return { outputs: metafile.outputs, code: outputFiles.filter(({ path }) => path.endsWith('.mjs')) };
};

/** The packages among `wanted` that have code in these files. */
const packagesIn = (outputs: Outputs, files: Iterable<string>, wanted: readonly string[]): string[] => {
  const modules = [...files].flatMap((file) => Object.entries(outputs[file]?.inputs ?? {}));
  return wanted.filter((name) =>
    modules.some(
      ([module, { bytesInOutput }]) => bytesInOutput > 0 && module.includes(`node_modules/${name}/`),
    ),
  );
};

/** The files of a function, including those on demand. */
const reachable = (outputs: Outputs, name: string): Set<string> => {
  const files = new Set(Object.keys(outputs).filter((file) => basename(file) === `${name}.mjs`));
  // The loop also visits files added during iteration.
  for (const file of files)
    for (const { path } of outputs[file]?.imports ?? []) if (path in outputs) files.add(path);
  return files;
};

// As an import it has no timeout of a hook, which bundling exceeds on a busy machine.
const { outputs, code } = await bundleAll();

it('no function can kill its process, as deliver does for the check of accept', () => {
  expect(code.length).toBeGreaterThan(functionNames.length);
  expect(code.filter(({ text }) => /SIGKILL|process\.(?:kill|abort)/.test(text))).toEqual([]);
});

describe('the cold start of a function', () => {
  it.each(functionNames)('of %s loads nothing that is needed only on demand', (name) => {
    const loaded = filesAtStart(outputs, `${name}.mjs`);
    // The portal has no table.
    const first = name === 'portal' ? '@aws-sdk/client-sts' : '@aws-sdk/client-dynamodb';
    const all = ['@aws-sdk/client-sts', '@aws-sdk/client-dynamodb', ...ON_DEMAND];
    expect(packagesIn(outputs, loaded, all)).toEqual([first]);
  });

  it.each(functionNames)(
    'of %s imports no node:http, for whose export WebSocket Node loads undici',
    (name) => {
      const imported = [...filesAtStart(outputs, `${name}.mjs`)].flatMap(
        (file) => outputs[file]?.imports ?? [],
      );
      const atStart = imported.filter(({ kind }) => kind === 'import-statement').map(({ path }) => path);
      expect(atStart).toContain('node:https');
      expect(atStart).not.toContain('node:http');
    },
  );

  it.each(functionNames)('of %s calls no `require`, which ES modules do not have', (name) => {
    const kinds = [...reachable(outputs, name)].flatMap((file) => outputs[file]?.imports ?? []);
    expect(kinds.filter(({ kind }) => kind === 'require-call')).toEqual([]);
  });

  it.each(['api', 'dispatch'] as const)('of %s loads no JSON Schema, which few messages need', (name) => {
    const modulesAt = (files: Iterable<string>) =>
      [...files].flatMap((file) => Object.keys(outputs[file]?.inputs ?? {}));
    const folder = 'shared/domain/event-type/';
    expect(modulesAt(reachable(outputs, name))).toContain(`${folder}json-schema.ts`);
    const loaded = modulesAt(filesAtStart(outputs, `${name}.mjs`));
    expect(loaded.filter((module) => module.startsWith(`${folder}json-`))).toEqual([]);
  });

  it('of api loads no KMS, which only a subscription that gets a secret needs', () => {
    expect(packagesIn(outputs, filesAtStart(outputs, 'api.mjs'), ['@aws-sdk/client-kms'])).toEqual([]);
  });
});

describe('the bundle of a function', () => {
  const [EVENTS, S3, SCHEDULER, PATCH, OAUTH, RE2] = ON_DEMAND;
  it.each([
    ['dispatch', [S3, RE2]],
    ['deliver', [EVENTS, S3, SCHEDULER, OAUTH]],
    ['reconcile', []],
    ['operate', [EVENTS, S3, SCHEDULER]],
    ['api', [EVENTS, S3, SCHEDULER, PATCH, RE2]],
    ['secrets', [S3]],
  ])('of %s has what it uses on demand, and no others', (name, used) => {
    expect(packagesIn(outputs, reachable(outputs, name), ON_DEMAND)).toEqual(used);
  });
});
