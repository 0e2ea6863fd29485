import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { projectRoot } from '../local/install/paths.mjs';
import published from './manifest.json' with { type: 'json' };
import { jsonIn, runProgram } from './run-program.ts';

const sources = join(projectRoot, 'package/consumers');

/** What Node loads for each app. The last file synthesises. */
const APPS = {
  esm: ['--import=./esm/producer.ts', '--import=./esm/receiver.ts', 'esm/app.ts'],
  commonjs: ['--require=./commonjs/producer.cjs', '--require=./commonjs/receiver.cjs', 'commonjs/app.cjs'],
  parts: ['parts/app.ts'],
};

/**
 * Installs the tarball outside the repository, and type-checks and synthesises the apps of package/consumers there.
 * @throws Error for an app that fails, and when synthesis in the repository builds functions of other bytes
 */
export async function checkConsumers(tarball: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-consumers-'));
  try {
    cpSync(sources, folder, { recursive: true });
    const [repository] = await Promise.all([
      synthesise('esm', { folder: sources, out: join(folder, 'repository') }),
      install(folder, tarball),
    ]);
    const [types, help, esm, commonjs, parts] = await Promise.all([
      runProgram(process.execPath, ['package/consumer-types.ts', folder]),
      runProgram(process.execPath, ['node_modules/.bin/posthaste', '--help'], { cwd: folder }),
      synthesise('esm', { folder }),
      synthesise('commonjs', { folder }),
      synthesise('parts', { folder }),
    ]);
    if (!isDeepStrictEqual(esm.bundles, repository.bundles))
      throw new Error(
        'The functions in the package and those that synthesis in the repository builds differ.',
      );
    const apps = Object.entries({ esm, commonjs, parts }).map(
      ([name, { resources, bundles }]) => `${name}: ${resources} resources, ${bundles.length} functions`,
    );
    return [types.trim(), ...apps, `posthaste --help: ${help.split('\n').length} lines`].join('\n');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const lockSchema = z.object({ packages: z.record(z.string(), z.object({ version: z.string() })) });

/**
 * Beside the oldest CDK that the package accepts, and otherwise in the versions of the repository: they are in npm's
 * cache, and do not change with what others publish.
 */
async function install(folder: string, tarball: string): Promise<void> {
  const { packages } = lockSchema.parse(jsonIn(join(projectRoot, 'package-lock.json')));
  const overrides: Record<string, string> = {};
  for (const [path, { version }] of Object.entries(packages)) {
    const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    if (name !== undefined && !/^(constructs|aws-cdk-lib|@aws-cdk\/.*)$/.test(name))
      overrides[name] = version;
  }
  const dependencies = {
    posthaste: `file:${tarball}`,
    '@aws-sdk/client-sqs': overrides['@aws-sdk/client-sqs'],
    '@types/node': overrides['@types/node'],
    // The oldest of a range such as `^2.190.0`.
    'aws-cdk-lib': published.peerDependencies['aws-cdk-lib'].replace('^', ''),
    constructs: published.peerDependencies.constructs.replace('^', ''),
  };
  const manifest = { private: true, type: 'module', dependencies, overrides };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  const args = ['install', '--prefer-offline', '--no-package-lock', '--no-audit', '--no-fund'];
  await runProgram('npm', args, { cwd: folder });
}

const templateSchema = z.object({ Resources: z.record(z.string(), z.unknown()) });
const assetsSchema = z.object({
  files: z.record(z.string(), z.object({ source: z.object({ packaging: z.string() }) })),
});

/**
 * Without a program on the path: neither esbuild nor a container can run. Without the CDK's own validation, which takes
 * most of the time: check:templates judges templates. Returns what is in the stack with the functions, `Shop`: folders of
 * functions are zipped, and are named by a hash of their content.
 */
async function synthesise(
  app: keyof typeof APPS,
  { folder, out = folder }: { folder: string; out?: string },
) {
  const cdkOut = join(out, `${app}.out`);
  const env = { PATH: '', CDK_OUTDIR: cdkOut, CDK_VALIDATION: 'false' };
  await runProgram(process.execPath, APPS[app], { cwd: folder, env });
  const { Resources } = templateSchema.parse(jsonIn(join(cdkOut, 'Shop.template.json')));
  const { files } = assetsSchema.parse(jsonIn(join(cdkOut, 'Shop.assets.json')));
  const bundles = Object.entries(files).filter(([, { source }]) => source.packaging === 'zip');
  return { resources: Object.keys(Resources).length, bundles: bundles.map(([hash]) => hash).toSorted() };
}
