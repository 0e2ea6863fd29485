import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { projectRoot } from '../../local/install/paths.mjs';
import { anchorsIn } from './anchors.ts';

const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

/** The sections by their anchors. */
const sections = new Map(
  page
    .split(/^(?=##+ )/m)
    .map((text) => [[...anchorsIn(text.split('\n', 1)[0] ?? '')][0] ?? '', text] as const),
);

/** An entry links to what is to be done, and that to its details. */
const LINKS_TO_FOLLOW = 2;

/** The commands of a section and of those it leads to by links, each as it is printed. */
export function commandsFrom(anchor: string): ReadonlySet<string> {
  let reached = new Set([anchor]);
  for (let step = 0; step < LINKS_TO_FOLLOW; step += 1) reached = new Set([...reached].flatMap(withLinked));
  return new Set([...reached].flatMap((one) => commandsIn(sectionAt(one))));
}

function withLinked(anchor: string): string[] {
  const links = [...sectionAt(anchor).matchAll(/\]\(#([\w-]+)\)/g)].map(([, link = '']) => link);
  return [anchor, ...links];
}

export function sectionAt(anchor: string): string {
  const section = sections.get(anchor);
  if (section === undefined) throw new Error(`docs/operations.md has no section #${anchor}`);
  return section;
}

function commandsIn(section: string): string[] {
  const blocks = [...section.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
  const lines = blocks.flatMap((block) => block.replaceAll(/ *\\\n */g, ' ').split('\n'));
  const inline = [...section.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replaceAll(/\s+/g, ' '));
  return [...lines.map((line) => line.replace(/ {2,}#.*$/, '')), ...inline];
}

/** Says where the result of a command ends. */
const END = 'end of the command, with status';

/** A shell as the runbook wants it, in which its first lines have run. Its commands run one after another. */
export const startShell = async (env: NodeJS.ProcessEnv) => {
  const child = spawn('bash', ['--noprofile', '--norc'], { cwd: projectRoot, env, stdio: 'pipe' });
  let written = '';
  let look = (): void => undefined;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written += text;
    look();
  });

  const run = (command: string): Promise<{ status: number; output: string }> =>
    new Promise((resolve) => {
      written = '';
      look = () => {
        const [all, output = '', status] = new RegExp(`^([\\s\\S]*)\\n${END} (\\d+)\\n`).exec(written) ?? [];
        if (all !== undefined) resolve({ status: Number(status), output });
      };
      child.stdin.write(`{ ${command}\n} </dev/null 2>&1; printf '\\n${END} %s\\n' $?\n`);
    });

  const [, lines = ''] = /```sh\n([\s\S]*?)```/.exec(page) ?? [];
  const { status, output } = await run(lines);
  if (status !== 0) throw new Error(`The first lines of docs/operations.md fail: ${output}`);
  return { run, stop: () => child.stdin.end() };
};
