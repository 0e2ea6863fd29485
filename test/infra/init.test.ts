import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { addedStack, NEW_FILES } from '../../cli/commands/init/init.ts';
import { deploymentsIn, type Outputs, parseResources } from '../../local/endpoints.ts';
import { compileCache, projectRoot } from '../../local/install/paths.mjs';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A folder with what npm would install: the CDK, and the constructs of this repository as the package. */
function folderWithPackages(): string {
  const folder = temporaryFolder();
  const installed = join(folder, 'node_modules');
  mkdirSync(join(installed, 'posthaste'), { recursive: true });
  symlinkSync(join(projectRoot, 'node_modules/aws-cdk-lib'), join(installed, 'aws-cdk-lib'));
  const index = pathToFileURL(join(projectRoot, 'infra/index.ts')).href;
  writeFileSync(join(installed, 'posthaste/index.mjs'), `export * from '${index}';`);
  writeFileSync(join(installed, 'posthaste/package.json'), '{"exports": "./index.mjs"}');
  return folder;
}

const outputsSchema = z.object({ Outputs: z.record(z.string(), z.unknown()) });

/** Synthesises the apps in one process, as loading the CDK takes longest. Bundles no function. */
async function synthesise(folder: string, ...apps: string[]): Promise<void> {
  const each = apps.map((app) => `process.env.CDK_OUTDIR = '${app}.out'; await import('./${app}');`);
  writeFileSync(join(folder, 'all.mjs'), each.join('\n'));
  await promisify(execFile)(process.execPath, ['all.mjs'], {
    cwd: folder,
    env: {
      CDK_CONTEXT_JSON: '{"aws:cdk:bundling-stacks": []}',
      CDK_VALIDATION: 'false',
      NODE_COMPILE_CACHE: compileCache,
    },
  });
}

/** The names of the outputs of the synthesised stack `Webhooks`, each as its value. */
function outputsOf(folder: string, app: string): Outputs {
  const template: unknown = JSON.parse(
    readFileSync(join(folder, `${app}.out/Webhooks.template.json`), 'utf8'),
  );
  return Object.fromEntries(Object.keys(outputsSchema.parse(template).Outputs).map((key) => [key, key]));
}

it('the app that init writes synthesises, and so does the stack that it adds to an app', async () => {
  const folder = folderWithPackages();
  const text = "import { App } from 'aws-cdk-lib';\nexport * from './other.ts';\nconst app = new App();\n";
  const { entry, ...stack } = addedStack({ path: 'existing.mts', text }, '');
  const files = { ...NEW_FILES, [entry.path]: entry.text, [stack.path]: stack.text, 'other.ts': '' };
  for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content);
  await synthesise(folder, 'app.mjs', entry.path);
  for (const app of ['app.mjs', entry.path]) {
    // The command finds everything below the construct.
    const [deployment] = deploymentsIn([outputsOf(folder, app)]);
    expect(parseResources(deployment?.outputs).deliveriesTable).toMatch(/^PosthasteDeliveriesTable/);
  }
});
