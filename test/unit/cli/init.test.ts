import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { applyPatch } from 'diff';
import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { posthaste, answering } from './run-command.ts';

let folder = '';
beforeEach(() => (folder = temporaryFolder()));

const inFolder = (file: string) => path.join(folder, file);
const textOf = (file: string) => readFileSync(inFolder(file), 'utf8');
const files = () => readdirSync(folder).toSorted();

const existing = (given: Readonly<Record<string, string>>): void => {
  for (const [file, text] of Object.entries(given)) {
    mkdirSync(path.dirname(inFolder(file)), { recursive: true });
    writeFileSync(inFolder(file), text);
  }
};

const init = (...args: string[]) => posthaste(['init', folder, ...args]);

const resultSchema = z.object({ written: z.array(z.string()), patch: z.string(), next: z.array(z.string()) });
const added = async () => resultSchema.parse((await init('--yes', '--json')).lines[0]);

/** Adds Posthaste to the existing app, and returns the entry file as its owner then changes it. */
const changed = async (entry: string) => String(applyPatch(textOf(entry), (await added()).patch));

describe('posthaste init in an empty folder', () => {
  it('shows the files as a diff, writes them, and names the next commands', async () => {
    const { status, stdout } = await init('--yes');
    expect(status).toBe(0);
    expect(files()).toEqual(['.gitignore', 'app.mjs', 'cdk.json', 'package.json']);
    expect(textOf('app.mjs').trimEnd().split('\n').length).toBeLessThanOrEqual(15);
    expect(textOf('package.json')).toContain(`"posthaste": "^${packageJson.version}"`);
    expect(stdout).toContain('--- /dev/null\n+++ b/app.mjs\n');
    expect(stdout).toContain("\n+new Posthaste(stack, 'Posthaste');\n");
    expect(stdout).toMatch(
      /\n {2}npm install\n.*start --app 'node app\.mjs'\n {2}npx cdk deploy Webhooks\n$/,
    );
  });

  it('creates the folder, and keeps a package.json and a .gitignore that are there', async () => {
    existing({ 'new/package.json': '{"dependencies": {"posthaste": "1"}}', 'new/.gitignore': 'mine\n' });
    folder = inFolder('new');
    const { stdout } = await init('--yes');
    expect(textOf('.gitignore')).toBe('mine\n');
    expect(textOf('package.json')).toBe('{"dependencies": {"posthaste": "1"}}');
    expect(stdout).toMatch(
      /\n {2}npm install aws-cdk-lib@2 constructs@10\n {2}npm install --save-dev aws-cdk@2\n/,
    );
  });

  it.each([
    ['to change an app that is there', undefined],
    ['to write through a link', path.join(tmpdir(), 'no-such-file')],
  ])('refuses %s, and writes nothing', async (_, target) => {
    if (target === undefined) existing({ 'app.mjs': 'mine' });
    else symlinkSync(target, inFolder('app.mjs'));
    const { status, stderr } = await init('--yes');
    expect({ status, files: files() }).toEqual({ status: 1, files: ['app.mjs'] });
    expect(stderr).toMatch(/app\.mjs exists already, .* Nothing was written\.\n$/);
  });

  it('writes nothing without a terminal to ask on, and says what to add', async () => {
    const { status, stderr } = await init();
    expect({ status, files: files() }).toEqual({ status: 2, files: [] });
    expect(stderr).toBe(
      'error: Write 4 files? Add --yes to do so\nSee npm run -s posthaste -- init --help\n',
    );
  });

  it.each([
    ['y', 0, 4],
    ['', 1, 0],
  ])('asks on a terminal, and after %j ends with %i and %i files', async (answer, status, written) => {
    const run = await posthaste(['init', folder], answering(answer));
    expect({ status: run.status, written: files().length }).toEqual({ status, written });
    expect(run.stderr).toContain('Write 4 files? [y/N] ');
  });

  it('keeps a file that was made after the question', async () => {
    const { status } = await posthaste(['init', folder], {
      onStart: (command) => {
        command.stderr.once('data', () => {
          existing({ 'app.mjs': 'mine' });
        });
        answering('y').onStart?.(command);
      },
    });
    expect({ status, app: textOf('app.mjs') }).toEqual({ status: 1, app: 'mine' });
  });

  it('counts changes that are not committed, without the program that the configuration of git names', async () => {
    execFileSync('git', ['init', '--quiet', folder]);
    execFileSync('git', ['-C', folder, 'config', 'core.fsmonitor', 'touch ran; :']);
    existing({ 'notes.md': 'new' });
    const { status, stderr } = await init();
    expect({ status, files: files() }).toEqual({ status: 2, files: ['.git', 'notes.md'] });
    expect(stderr).toContain('The folder has 1 change not committed to git. Write 4 files?');
  });
});

describe('posthaste init beside a CDK app', () => {
  it('writes a stack in TypeScript, and shows the lines for the entry file without changing it', async () => {
    const entry = `#!/usr/bin/env node
import * as cdk from 'aws-cdk-lib';
import {
  ShopStack,
} from '../lib/shop-stack';

const shop = new cdk.App();
new ShopStack(shop, 'Shop');
`;
    existing({
      'cdk.json': '{"app": "npx ts-node bin/shop.ts"}',
      'bin/shop.ts': entry,
      'lib/shop-stack.ts': '',
    });
    const { written, patch } = await added();
    expect(written).toEqual(['lib/webhooks-stack.ts']);
    expect(textOf('lib/webhooks-stack.ts')).toContain(
      'constructor(scope: Construct, id: string, props?: StackProps)',
    );
    expect(String(applyPatch(entry, patch))).toBe(
      entry
        .replace("shop-stack';\n", "shop-stack';\nimport { WebhooksStack } from '../lib/webhooks-stack';\n")
        .concat("new WebhooksStack(shop, 'Webhooks');\n"),
    );
  });

  it.each(['.js', '.ts'])('imports the stack with the ending %s, as the entry file does', async (ending) => {
    const entry = `import { A } from './a${ending}';\nconst app = new App();\n`;
    existing({ 'cdk.json': '{"app": "tsx ./app.ts"}', 'app.ts': entry });
    expect(await changed('app.ts')).toContain(`import { WebhooksStack } from './webhooks-stack${ending}';`);
  });

  it('keeps out of a lib that is a link, and installs all packages where the package.json lies above', async () => {
    existing({ 'cdk.json': '{"app": "node app.mjs"}', 'app.mjs': '', 'elsewhere/stack.ts': '' });
    symlinkSync(inFolder('elsewhere'), inFolder('lib'));
    const { written, next } = await added();
    expect(written).toEqual(['webhooks-stack.mjs']);
    expect(next.join('\n')).toMatch(/^npm install posthaste@\d+ aws-cdk-lib@2 constructs@10$/m);
  });

  it('requires the stack in an app of CommonJS, and adds it before the app is synthesised', async () => {
    const entry = "const cdk = require('aws-cdk-lib');\nconst app = new cdk.App();\napp.synth();\n";
    existing({ 'cdk.json': '{"app": "node app.js"}', 'app.js': entry });
    expect((await changed('app.js')).split('\n')).toEqual([
      "const cdk = require('aws-cdk-lib');",
      "const { WebhooksStack } = require('./webhooks-stack.mjs');",
      'const app = new cdk.App();',
      "new WebhooksStack(app, 'Webhooks');",
      'app.synth();',
      '',
    ]);
  });

  it.each<[string, string, Record<string, string>, RegExp]>([
    ['in another language', '{"app": "python3 app.py"}', { 'app.py': '' }, /\(python3 app\.py\) names no/],
    ['that has it', '{"app": "node a.mjs"}', { 'a.mjs': "from 'posthaste'" }, /uses Posthaste already/],
    ['whose cdk.json names no app', '{}', {}, /cdk\.json names no app/],
    ['whose cdk.json is broken', '{"app', {}, /cdk\.json is not JSON/],
  ])('refuses an app %s', async (_, cdk, others, sentence) => {
    existing({ 'cdk.json': cdk, ...others });
    const { status, stderr } = await init('--yes');
    expect({ status, files: files() }).toEqual({ status: 1, files: [...Object.keys(others), 'cdk.json'] });
    expect(stderr).toMatch(sentence);
  });
});
