import { posix } from 'node:path';

/** The entry file of a CDK app: its path in the app's folder, with slashes, and its text. */
export type Entry = { path: string; text: string };

/** A stack in a separate file, and the entry file with the lines that add it to the app. */
export type AddedStack = { path: string; text: string; entry: Entry };

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
