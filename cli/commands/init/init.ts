import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { Problem } from '../../../local/install/problem.mjs';
import { examplesText } from '../../options/deployment-options.ts';
import { counted } from '../../../api-client/words.ts';
import type { Terminal } from '../../terminal.ts';
import { plannedFiles, type Plan } from './plan.ts';

type Options = { yes?: true; json?: true };

const MORE = `
Without a cdk.json in the folder, writes a new app. With one, writes a stack
beside the app, and shows the lines to add to the app's entry file. Shows
everything first and asks; without a terminal to ask on, it requires --yes.
Never changes a file that exists.`;

/** `posthaste init` */
export function addInit(command: Command, terminal: Terminal): void {
  command
    .argument('[folder]', 'folder of the app', '.')
    .option('--yes', 'write the files without a question')
    .option('--json', 'print JSON: the written files, the lines to add as a patch, and the next commands')
    .action((folder: string, options: Options) => init(command, resolve(folder), options, terminal))
    .addHelpText('after', `${MORE}${examplesText(['init', 'init webhooks --yes'])}`);
}

async function init(
  command: Command,
  folder: string,
  { yes, json }: Options,
  terminal: Terminal,
): Promise<void> {
  const plan = plannedFiles(folder);
  const print = json === true ? terminal.printError : terminal.print;
  for (const line of diffOf(plan)) print(line);
  if (yes !== true) {
    const question = questionOf(plan, uncommittedChanges(folder));
    const isConfirmed = await terminal.confirm(question);
    if (isConfirmed === undefined) return command.error(`error: ${question} Add --yes to do so`);
    if (!isConfirmed) throw new Problem('Nothing was written.');
  }
  write(folder, plan.files);
  const written = Object.keys(plan.files);
  if (json === true) terminal.printJson({ written, ...patchToAdd(plan), next: plan.next });
  else
    terminal.print(`Wrote ${written.join(', ')}. Next:\n${plan.next.map((line) => `  ${line}`).join('\n')}`);
}

function diffOf(plan: Plan): string[] {
  const added = Object.entries(plan.files).map(([path, text]) => patchOf(path, '', text));
  const { patch } = patchToAdd(plan);
  return patch === undefined ? added : [...added, `Lines to add to ${plan.entry?.path}:\n\n${patch}`];
}

function patchToAdd({ entry }: Plan): { patch?: string } {
  return entry === undefined ? {} : { patch: patchOf(entry.path, entry.before, entry.after) };
}

function patchOf(path: string, before: string, after: string): string {
  const from = before === '' ? '/dev/null' : `a/${path}`;
  const options = { headerOptions: FILE_HEADERS_ONLY };
  return createTwoFilesPatch(from, `b/${path}`, before, after, undefined, undefined, options);
}

function questionOf({ files }: Plan, changes: number): string {
  const warning =
    changes === 0 ? '' : `The folder has ${counted(changes, 'change', 'changes')} not committed to git. `;
  return `${warning}Write ${counted(Object.keys(files).length, 'file', 'files')}?`;
}

/** How many files under the folder git lists as changed or new; 0 without git. */
function uncommittedChanges(folder: string): number {
  try {
    // Without the program that core.fsmonitor may name, and without writing the index.
    const args = ['-c', 'core.fsmonitor=false', '--no-optional-locks', 'status', '--porcelain', '--', '.'];
    const listed = execFileSync('git', args, {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return listed.split('\n').filter((line) => line !== '').length;
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
