import { posix } from 'node:path';
import { CDK_COMMAND, CDK_LIBRARY } from '../../../local/install/cdk.mjs';
import packageJson from '../../../package.json' with { type: 'json' };

/** The packages of an app, with ranges of versions. */
export const APP_PACKAGES = {
  dependencies: { posthaste: `^${packageJson.version}`, ...CDK_LIBRARY },
  devDependencies: CDK_COMMAND,
};

/** How the new app runs. */
export const NEW_APP = 'node app.mjs';

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
export type Entry = { path: string; text: string };

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
