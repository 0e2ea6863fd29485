import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { completionScript, SHELLS, type Shell } from '../../../cli/commands/completion/scripts.ts';
import { shellWord } from '../../../cli/command-name.ts';

const run = promisify(execFile);

const PROGRAM = [process.execPath, path.resolve('cli/posthaste.mjs')].map(shellWord).join(' ');

/** Loads the script and prints what the shell offers for a line, of which the last word is completed. */
const DRIVERS: Record<Shell, (script: string, words: readonly string[]) => string[]> = {
  bash: (script, words) => [
    '-c',
    'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _posthaste; printf "%s\\n" "${COMPREPLY[@]}"',
    'bash',
    script,
    ...words,
  ],
  // What the shell's own functions print depends on a terminal, so they are replaced.
  zsh: (script, words) => [
    '-f',
    '-c',
    'compdef() { }; _files() { }; _describe() { printf "%s\\n" "${(@)${(@P)2}%%:*}"; }; source "$1"; shift; words=("$@"); CURRENT=$#; _posthaste',
    'zsh',
    script,
    ...words,
  ],
  fish: (script, words) => ['-N', '-c', `source ${script}; complete -C ${fishQuoted(words.join(' '))}`],
};

const fishQuoted = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;

const isInstalled = (shell: Shell): boolean => spawnSync(shell, ['-c', 'true']).status === 0;

describe.each(SHELLS)('the completion of %s', (shell) => {
  // In CI all shells are installed (.ci/run); elsewhere, those at hand are tried.
  const isHere = process.env['CI'] !== undefined || isInstalled(shell);

  const folder = mkdtempSync(path.join(tmpdir(), 'completion-'));
  const script = path.join(folder, 'script');
  writeFileSync(script, completionScript(shell, 'posthaste', PROGRAM));

  const offered = async (...words: string[]): Promise<string[]> => {
    const { stdout } = await run(shell, DRIVERS[shell](script, words), { cwd: folder });
    return stdout
      .split('\n')
      .map((line) => line.split('\t')[0] ?? '')
      .filter((line) => line !== '');
  };

  it.runIf(isHere)('offers commands, subcommands and options', async () => {
    expect(await offered('posthaste', 'que')).toEqual(['queue']);
    expect(await offered('posthaste', 'queue', 'de')).toEqual(['delete']);
    expect(await offered('posthaste', 'queue', '')).toEqual(expect.arrayContaining(['list', 'show']));
    expect(await offered('posthaste', 'queue', 'delete', '--y')).toEqual(['--yes']);
  });

  it.runIf(isHere)('evaluates nothing of the line', async () => {
    const trap = path.join(folder, 'trap');
    const touch = `touch ${trap}`;
    const words = [
      `$(${touch})`,
      `'$(${touch})'`,
      `\`${touch}\``,
      `";${touch};"`,
      `|${touch}`,
      `$(${touch})`,
    ];
    await offered('posthaste', 'queue', 'show', ...words);
    expect(existsSync(trap)).toBe(false);
  });
});
