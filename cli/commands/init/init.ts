import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative, resolve } from 'node:path';
import * as z from 'zod';
import { counted } from '../../../api-client/words.ts';
import { commandText, shellWord } from '../../../local/command-name.ts';
import { CDK_COMMAND, CDK_LIBRARY } from '../../../local/install/npm.mjs';
import { Problem } from '../../../local/install/problem.mjs';
import packageJson from '../../../package.json' with { type: 'json' };
import { argument, option } from '../../options/arguments.ts';
import { type Refuse, standalone } from '../../options/deployed.ts';
import { formatPatch, type Patch } from '../../output/patch.ts';
import type { Terminal } from '../../terminal.ts';

/** `posthaste init` */
export const init = standalone<{ yes?: true }>({
  arguments: [argument('[folder]', 'folder of the app').default('.')],
  options: [option('--yes', 'write the files without a question')],
  json: 'the written files, the lines to add as a patch, and the next commands',
  more: `
Without a cdk.json in the folder, writes a new app. With one, writes a stack
beside the app, and shows the lines to add to the app's entry file. Shows
everything first and asks; without a terminal to ask on, it requires --yes.
Never changes a file that exists.
`,
  examples: ['init', 'init webhooks --yes'],
  run: async ({ options: { yes, json }, terminal, refuse }, given = '.') => {
    const folder = resolve(given);
    const { files, entry, next } = plannedFiles(folder);
    const print = json === true ? terminal.printError : terminal.print;
    for (const [name, after] of Object.entries(files)) print(formatPatch({ name, before: '', after }));
    const patch = entry && formatPatch(entry);
    if (entry !== undefined) print(`Lines to add to ${entry.name}:\n\n${patch}`);
    if (yes !== true && !(await isConfirmed(folder, files, terminal, refuse)))
      throw new Problem('Nothing was written.');
    write(folder, files);
    const written = Object.keys(files);
    return [
      { written, patch, next },
      () => `Wrote ${written.join(', ')}. Next:\n${next.map((line) => `  ${line}`).join('\n')}`,
    ];
  },
});

async function isConfirmed(
  folder: string,
  files: Plan['files'],
  terminal: Terminal,
  refuse: Refuse,
): Promise<boolean> {
  const changes = uncommittedChanges(folder);
  const warning =
    changes === 0 ? '' : `The folder has ${counted(changes, 'change', 'changes')} not committed to git. `;
  const question = `${warning}Write ${counted(Object.keys(files).length, 'file', 'files')}?`;
  return (await terminal.confirm(question)) ?? refuse(`${question} Add --yes to do so`);
}

/** How many files under the folder git lists as changed or new; 0 without git. */
function uncommittedChanges(folder: string): number {
  try {
    // Without the program that core.fsmonitor may name, and without writing the index.
    const args = ['-c', 'core.fsmonitor=false', '--no-optional-locks', 'status', '--porcelain', '--', '.'];
    const listed = execFileSync('git', args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
    return listed
      .toString()
      .split('\n')
      .filter((line) => line !== '').length;
  } catch {
    return 0;
  }
}

/** The flag refuses a file that came to exist after the question. */
function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { flag: 'wx' });
  }
}

/** What `init` writes and says. */
export type Plan = {
  /** Texts of new files, by path. */
  files: Readonly<Record<string, string>>;
  /** The entry file of an existing app, with the lines that its owner adds. */
  entry?: Patch;
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
  const file = join(folder, 'cdk.json');
  const parsed = z.object({ app: z.string() }).safeParse(jsonIn(file));
  if (!parsed.success) throw new Problem(`${file} names no app.`);
  const { app } = parsed.data;
  const entry = findEntry(folder, app);
  const stack = addedStack(entry, entryAt(folder, 'lib')?.isDirectory() === true ? 'lib' : '');
  refuseExisting(folder, stack.path);
  return {
    files: { [stack.path]: stack.text },
    entry: { name: entry.path, before: entry.text, after: stack.entry.text },
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

/** The entry file among the words of the app's command, such as `bin/shop.ts` of `npx ts-node bin/shop.ts`. */
function findEntry(folder: string, app: string): Entry {
  const path = app
    .split(/\s+/)
    // A compiled file is not the one to change.
    .flatMap((word) => [word.replace(/\.js$/, '.ts'), word])
    .find((word) => /\.[cm]?[jt]s$/.test(word) && existsSync(join(folder, word)));
  if (path === undefined)
    throw new Problem(
      `The app of cdk.json (${app}) names no TypeScript or JavaScript file of this folder. ` +
        "Add Posthaste to one of its stacks yourself: new Posthaste(this, 'Posthaste'), imported from 'posthaste'.",
    );
  const entry = { path: posix.normalize(path), text: readFileSync(join(folder, path), 'utf8') };
  if (/['"]posthaste['"]/.test(entry.text))
    throw new Problem(`${entry.path} uses Posthaste already. Nothing was written.`);
  return entry;
}

function nextSteps(folder: string, app: string): string[] {
  return [
    ...(folder === process.cwd() ? [] : [`cd ${shellWord(relative(process.cwd(), folder))}`]),
    ...installCommands(folder),
    `${commandText('start')} --app ${shellWord(app)}`,
    'npx cdk deploy Webhooks',
  ];
}

/** All packages of a package.json that init writes; for an existing app, those that it lacks. */
function installCommands(folder: string): string[] {
  const file = join(folder, 'package.json');
  if (!existsSync(file) && !existsSync(join(folder, 'cdk.json'))) return ['npm install'];
  const given = existsSync(file) ? jsonIn(file) : {};
  const dependencies = z.record(z.string(), z.unknown()).default({});
  const manifest = z.object({ dependencies, devDependencies: dependencies }).safeParse(given);
  const names = { ...manifest.data?.dependencies, ...manifest.data?.devDependencies };
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

/**
 * A stack in a separate file, in the language of the entry file, and that with the lines that add the stack to the app.
 * `folder`: where the stack's file goes, such as `lib`.
 */
export function addedStack(entry: Entry, folder: string) {
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
  if (/\brequire\(/.test(text) && !/^import /m.test(text))
    return `const { WebhooksStack } = require('${module}');`;
  // How the file ends its own imports: `.js`, `.ts` or nothing, as its compiler demands.
  const [, ending = ''] = /from\s+['"]\.{1,2}\/[^'"]*?(\.[jt]s)?['"]/.exec(text) ?? [];
  return `import { WebhooksStack } from '${module.replace(/\.ts$/, ending)}';`;
}
