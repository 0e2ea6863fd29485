import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import * as z from 'zod';
import { commandText, shellWord } from '../../../local/command-name.ts';
import { CDK_COMMAND, CDK_LIBRARY } from '../../../local/install/cdk.mjs';
import { Problem } from '../../../local/install/problem.mjs';
import packageJson from '../../../package.json' with { type: 'json' };

/** What `init` writes and says. */
export type Plan = {
  /** Texts of new files, by path. */
  files: Readonly<Record<string, string>>;
  /** The entry file of an existing app, with the lines that its owner adds. */
  entry?: { path: string; before: string; after: string };
  /** Commands to run afterwards. */
  next: readonly string[];
};

/**
 * Plans a new app, or a stack beside the app of the folder's cdk.json.
 * @throws Problem if a file of the app exists already, or the app is in another language
 */
export function plannedFiles(folder: string): Plan {
  return existsSync(join(folder, 'cdk.json')) ? plannedStack(folder) : plannedApp(folder);
}

function plannedApp(folder: string): Plan {
  refuseExisting(folder, 'app.mjs');
  const files = Object.entries(NEW_FILES).filter(([path]) => entryAt(folder, path) === undefined);
  return { files: Object.fromEntries(files), next: nextSteps(folder, NEW_APP) };
}

function plannedStack(folder: string): Plan {
  const app = appOf(join(folder, 'cdk.json'));
  const entry = entryOf(folder, app);
  const stack = addedStack(entry, entryAt(folder, 'lib')?.isDirectory() === true ? 'lib' : '');
  refuseExisting(folder, stack.path);
  return {
    files: { [stack.path]: stack.text },
    entry: { path: entry.path, before: entry.text, after: stack.entry.text },
    next: [`# Add the lines to ${entry.path}, then:`, ...nextSteps(folder, app)],
  };
}

/** A link counts as itself, so that nothing is written through it to another folder. */
function entryAt(folder: string, path: string) {
  return lstatSync(join(folder, path), { throwIfNoEntry: false });
}

function refuseExisting(folder: string, path: string): void {
  if (entryAt(folder, path) !== undefined)
    throw new Problem(
      `${join(folder, path)} exists already, and init never changes a file. Nothing was written.`,
    );
}

const cdkJson = z.object({ app: z.string() });

function appOf(file: string): string {
  const parsed = cdkJson.safeParse(jsonIn(file));
  if (parsed.success) return parsed.data.app;
  throw new Problem(`${file} names no app.`);
}

/** The entry file among the words of the app's command, such as `bin/shop.ts` of `npx ts-node bin/shop.ts`. */
function entryOf(folder: string, app: string): Entry {
  const path = app
    .split(/\s+/)
    // A compiled file is not the one to change.
    .flatMap((word) => [word.replace(/\.js$/, '.ts'), word])
    .find((word) => /\.[cm]?[jt]s$/.test(word) && existsSync(join(folder, word)));
  if (path !== undefined) return unusedEntry(folder, posix.normalize(path));
  throw new Problem(
    `The app of cdk.json (${app}) names no TypeScript or JavaScript file of this folder. ` +
      "Add Posthaste to one of its stacks yourself: new Posthaste(this, 'Posthaste'), imported from 'posthaste'.",
  );
}

function unusedEntry(folder: string, path: string): Entry {
  const text = readFileSync(join(folder, path), 'utf8');
  if (/['"]posthaste['"]/.test(text))
    throw new Problem(`${path} uses Posthaste already. Nothing was written.`);
  return { path, text };
}

function nextSteps(folder: string, app: string): string[] {
  return [
    ...(folder === process.cwd() ? [] : [`cd ${shellWord(relative(process.cwd(), folder))}`]),
    ...installCommands(folder),
    `${commandText('start')} --app ${shellWord(app)}`,
    'npx cdk deploy Webhooks',
  ];
}

const dependencies = z.record(z.string(), z.unknown()).default({});
const manifest = z.object({ dependencies, devDependencies: dependencies });

/** All packages of a package.json that init writes; for an existing app, those that it lacks. */
function installCommands(folder: string): string[] {
  const file = join(folder, 'package.json');
  if (!existsSync(file) && !existsSync(join(folder, 'cdk.json'))) return ['npm install'];
  const given = existsSync(file) ? jsonIn(file) : {};
  const present = manifest.catch({ dependencies: {}, devDependencies: {} }).parse(given);
  const names = { ...present.dependencies, ...present.devDependencies };
  // With its major version: the newest one is not always the one that the constructs know.
  const missing = (packages: Readonly<Record<string, string>>): string =>
    Object.entries(packages)
      .filter(([name]) => !(name in names))
      .map(([name, range]) => `${name}@${parseInt(range.slice(1))}`)
      .join(' ');
  const [toRun, toDeploy] = [missing(APP_PACKAGES.dependencies), missing(APP_PACKAGES.devDependencies)];
  return [
    ...(toRun === '' ? [] : [`npm install ${toRun}`]),
    ...(toDeploy === '' ? [] : [`npm install --save-dev ${toDeploy}`]),
  ];
}

function jsonIn(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new Problem(`${file} is not JSON.`, { cause });
  }
}

/** The packages of an app, with ranges of versions. */
const APP_PACKAGES = {
  dependencies: { posthaste: `^${packageJson.version}`, ...CDK_LIBRARY },
  devDependencies: CDK_COMMAND,
};

/** How the new app runs. */
const NEW_APP = 'node app.mjs';

const APP = `import { App, Stack } from 'aws-cdk-lib';
import { Posthaste } from 'posthaste';

const app = new App();
const stack = new Stack(app, 'Webhooks');

// Every setting has a default, which your editor shows.
new Posthaste(stack, 'Posthaste');
`;

/** The files of a new app, by their paths in its folder. */
export const NEW_FILES: Readonly<Record<string, string>> = {
  'package.json': jsonText({ private: true, type: 'module', ...APP_PACKAGES }),
  'cdk.json': jsonText({ app: NEW_APP }),
  'app.mjs': APP,
  '.gitignore': 'node_modules/\ncdk.out/\n',
};

function jsonText(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** The entry file of a CDK app: its path in the app's folder, with slashes, and its text. */
type Entry = { path: string; text: string };

/** A stack in a separate file, and the entry file with the lines that add it to the app. */
type AddedStack = { path: string; text: string; entry: Entry };

/** `folder`: where the stack's file goes, such as `lib`. The file is in the language of the entry file. */
export function addedStack(entry: Entry, folder: string): AddedStack {
  const isTypeScript = /\.[cm]?ts$/.test(entry.path);
  const path = posix.join(folder, isTypeScript ? 'webhooks-stack.ts' : 'webhooks-stack.mjs');
  return {
    path,
    text: isTypeScript ? TYPESCRIPT : JAVASCRIPT,
    entry: { ...entry, text: withStack(entry, path) },
  };
}

const JAVASCRIPT = `import { Stack } from 'aws-cdk-lib';
import { Posthaste } from 'posthaste';

export class WebhooksStack extends Stack {
  constructor(scope, id, props) {
    super(scope, id, props);
    // Every setting has a default, which your editor shows.
    this.posthaste = new Posthaste(this, 'Posthaste');
  }
}
`;

const TYPESCRIPT = `import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Posthaste } from 'posthaste';

export class WebhooksStack extends Stack {
  readonly posthaste: Posthaste;

  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);
    // Every setting has a default, which your editor shows.
    this.posthaste = new Posthaste(this, 'Posthaste');
  }
}
`;

/** The last line of an import, which may span lines. */
const IMPORT = /^(?:import\b.*['"];?|\} from .*|(?:const|let|var)\b.*\brequire\(.*)\s*$/;

const SYNTH = /^\s*\w+\.synth\(/;

/** Adds an import after the last one, and the stack at the end, or before the app is synthesised. */
function withStack(entry: Entry, stack: string): string {
  const lines = entry.text.trimEnd().split('\n');
  const [, app = 'app'] = /(?:const|let|var)\s+(\w+)\s*=\s*new\s+(?:\w+\.)?App\(/.exec(entry.text) ?? [];
  const synth = lines.findIndex((line) => SYNTH.test(line));
  lines.splice(synth === -1 ? lines.length : synth, 0, `new WebhooksStack(${app}, 'Webhooks');`);
  lines.splice(lines.findLastIndex((line) => IMPORT.test(line)) + 1, 0, importLine(entry, stack));
  return `${lines.join('\n')}\n`;
}

function importLine({ path, text }: Entry, stack: string): string {
  const relative = posix.relative(posix.dirname(path), stack);
  const module = relative.startsWith('.') ? relative : `./${relative}`;
  const isCommonJs = /\brequire\(/.test(text) && !/^import /m.test(text);
  return isCommonJs
    ? `const { WebhooksStack } = require('${module}');`
    : `import { WebhooksStack } from '${module.replace(/\.ts$/, endingOfImports(text))}';`;
}

/** How the file ends its own imports: `.js`, `.ts` or nothing, as its compiler demands. */
function endingOfImports(text: string): string {
  const [, ending = ''] = /from\s+['"]\.{1,2}\/[^'"]*?(\.[jt]s)?['"]/.exec(text) ?? [];
  return ending;
}
