import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { completionScript, SHELLS, type Shell } from '../../../cli/commands/completion/completion.ts';
import { shellWord } from '../../../local/command-name.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { posthaste } from './run-command.ts';

const run = promisify(execFile);

const programOf = (file: string): string => [process.execPath, file].map(shellWord).join(' ');

const BASH =
  'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; $(complete -p posthaste | sed "s/.*-F //;s/ .*//"); printf "%s\\n" "${COMPREPLY[@]}"';
// What the shell's own functions print depends on a terminal, so they are replaced.
const ZSH =
  'compdef() { }; _files() { }; _describe() { printf "%s\\n" "${(@)${(@P)2}%%:*}"; }; source "$1"; shift; words=("$@"); CURRENT=$#; _posthaste';

/** Loads the script and prints what the shell offers for a line, of which the last word is completed. */
const DRIVERS: Record<Shell, (script: string, words: readonly string[]) => string[]> = {
  bash: (script, words) => ['-c', BASH, 'bash', script, ...words],
  zsh: (script, words) => ['-f', '-c', ZSH, 'zsh', script, ...words],
  fish: (script, words) => ['-N', '-c', `source ${script}; complete -C ${fishQuoted(words.join(' '))}`],
};

const fishQuoted = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;

const isInstalled = (shell: Shell): boolean => spawnSync(shell, ['-c', 'true']).status === 0;

describe.each(SHELLS)('the completion of %s', (shell) => {
  // In CI all shells are installed (.ci/run); elsewhere, those at hand are tried.
  const isHere = process.env['CI'] !== undefined || isInstalled(shell);

  let folder: string;
  beforeEach(() => (folder = temporaryFolder()));

  const offered = async (program: string, ...words: string[]): Promise<string[]> => {
    const script = path.join(folder, 'script');
    writeFileSync(script, completionScript(shell, programOf(program)));
    const { stdout } = await run(shell, DRIVERS[shell](script, ['posthaste', ...words]), { cwd: folder });
    return stdout
      .replaceAll(/\t.*/g, '')
      .split('\n')
      .filter((line) => line !== '');
  };

  it.runIf(isHere)('offers subcommands and options', async () => {
    // Prints what the command prints for the line, without its start in a process, which takes a second.
    const program = path.join(folder, 'program.cjs');
    const offers = async (...words: string[]) => {
      const log = vi.spyOn(console, 'log').mockReturnValue();
      await posthaste(['complete', '--', ...words]);
      const lines = log.mock.calls.flat();
      log.mockRestore();
      writeFileSync(program, `for (const line of ${JSON.stringify(lines)}) console.log(line);`);
      return offered(program, ...words);
    };
    const subcommands = await offers('queue', '');
    expect(subcommands).toEqual(expect.arrayContaining(['list', 'show']));
    // The last line is for the script.
    expect(subcommands.filter((one) => one.startsWith(':'))).toEqual([]);
    expect(await offers('queue', 'delete', '--y')).toEqual(['--yes']);
    // Fish offers files as well.
    const shells = await offers('completion', '');
    expect(shells).toEqual(expect.arrayContaining([...SHELLS]));
    expect(shells).not.toContain('powershell');
  });

  it.runIf(isHere)('evaluates nothing of the line, which the program gets', async () => {
    const [program = '', seen = '', trap = ''] = ['program.cjs', 'seen', 'trap'].map((name) =>
      path.join(folder, name),
    );
    writeFileSync(program, `require('fs').writeFileSync('${seen}', process.argv.join(' '));`);
    const set = `:>${trap}`;
    const inside = [`$(${set})`, `'$(${set})'`, `"$(${set})"`, `\`${set}\``, `";${set};"`];
    for (const last of ['', `$(${set})`, `--option$(${set})=`]) {
      await offered(program, 'queue', 'show', ...inside, last);
      expect(existsSync(trap)).toBe(false);
      expect(readFileSync(seen, 'utf8')).toContain('complete -- queue show $(:>');
      rmSync(seen);
    }
  });
});
