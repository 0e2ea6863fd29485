import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { wholeProgram } from '../../../cli/program.ts';
import { terminalIn } from '../../../cli/terminal.ts';
import { captured, posthaste } from './run-command.ts';

/** Every command that does something, with its words. */
const leavesOf = (
  command: Command,
  words: readonly string[] = [],
): { words: readonly string[]; command: Command }[] =>
  command.commands.length === 0
    ? [{ words, command }]
    : command.commands.flatMap((inner) => leavesOf(inner, [...words, inner.name()]));

const helpOf = (command: Command): string => {
  let text = '';
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
  });
  command.outputHelp();
  return text;
};

let leaves: ReturnType<typeof leavesOf>;
beforeAll(async () => {
  leaves = leavesOf(await wholeProgram(terminalIn(captured())));
});

describe('the help of every command', () => {
  it('has an example of itself, with options that it has and as many arguments as it takes', () => {
    expect(leaves.length).toBeGreaterThan(30);
    for (const { words, command } of leaves) {
      const examples = [...helpOf(command).matchAll(/npm run -s posthaste -- (.+)/g)].map(
        ([, args = '']) => args,
      );
      expect(examples.length, words.join(' ')).toBeGreaterThan(0);
      for (const example of examples) {
        expect(example.startsWith(words.join(' ')), example).toBe(true);
        const options = [...example.matchAll(/ (--[a-z-]+)/g)].map(([, name]) => name);
        for (const option of options)
          expect(
            command.options.map(({ long }) => long),
            example,
          ).toContain(option);
      }
    }
  });

  it('describes each of its options and arguments', () => {
    for (const { words, command } of leaves) {
      expect(command.description() !== '' || words.length === 1, words.join(' ')).toBe(true);
      for (const { flags, description } of command.options) expect(description, flags).not.toBe('');
    }
  });

  it('knows every command and option that docs/command.md shows, and the page shows every command', async () => {
    const docs = await readFile(path.join(import.meta.dirname, '../../../docs/command.md'), 'utf8');
    const shown = [...docs.matchAll(/^(?:.* \| )?posthaste (.+)$/gm)].map(([, args = '']) => args);
    const seen = new Set<string>();
    for (const example of shown) {
      const leaf = leaves.find(({ words }) => `${example} `.startsWith(`${words.join(' ')} `));
      expect(leaf, example).toBeDefined();
      seen.add(leaf?.words.join(' ') ?? '');
      const options = [...example.matchAll(/ (--[a-z-]+)/g)].map(([, name]) => name);
      for (const option of options) {
        expect(
          leaf?.command.options.map(({ long }) => long),
          example,
        ).toContain(option);
      }
    }
    expect(leaves.map(({ words }) => words.join(' ')).filter((words) => !seen.has(words))).toEqual([]);
  });

  it('is there for a part as well', async () => {
    const { status, stdout } = await posthaste(['help', 'subscription']);
    expect(status).toBe(0);
    expect(stdout).toContain('rotate-secret');
  });
});

describe('what is asked wrongly', () => {
  it.each([
    ['an unknown part', ['que']],
    ['an unknown command', ['queue', 'lst']],
    ['a part alone', ['queue']],
    ['an unknown option', ['queue', 'list', '--jsn']],
    ['a name that no queue has', ['queue', 'show', 'a b']],
    ['a name that a URL would resolve', ['queue', 'delete', '..']],
    ['a policy that is not JSON', ['queue', 'create', 'q', '--policy', '{']],
    ['a policy that is no object', ['queue', 'create', 'q', '--policy', '3']],
    ['a member without a value', ['queue', 'set', 'q', '--set', 'owner']],
    ['nothing to change', ['queue', 'set', 'q']],
    ['nothing to change of a subscription', ['subscription', 'update', 'q', 's']],
    ['a header without a value', ['subscription', 'create', 'q', 'https://example.com', '--header', 'x']],
    ['a part of a second to live', ['subscription', 'create', 'q', 'https://example.com', '--ttl', '0.5']],
    ['data and a file', ['publish', 'q', '--data', '1', '--file', 'x']],
    ['data that is not JSON', ['publish', 'q', '--data', '{a: 1}']],
    ['an id for many', ['publish', 'q', '--id', 'x', '--file', 'x']],
    ['a delay that SQS cannot keep', ['publish', 'q', '--data', '1', '--delay', '901']],
    ['a status that no listing has', ['deliveries', 'list', 'q', '--status', 'delivered']],
    ['a message and a status', ['deliveries', 'list', 'q', '--message', 'm', '--status', 'rejected']],
    ['too few names', ['retry', 'q', 'm']],
    ['no time to recover', ['recover', 'start', 'q']],
    ['a time that ends before it begins', ['recover', 'start', 'q', '--since', '1h', '--until', '2h']],
    ['a script that is none', ['listen', '--answer', '200,banana']],
    ['a secret that is none', ['listen', '--secret', 'whpk_short']],
    ['a policy without a subscription', ['listen', '--policy', '{}']],
    ['a port that is none', ['proxy', '--port', '65536']],
    ['two deployments', ['doctor', '--local', '--deployment', 'Posthaste']],
  ])('is told with the usage, before anything is done: %s', async (_, args) => {
    const { status, stdout, stderr } = await posthaste(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('Usage: posthaste');
  });

  it('ends with status 2, nothing on stdout and no stack trace', async () => {
    const { status, stdout, stderr } = await posthaste(['queue', 'show', 'a b']);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('Usage: posthaste queue show');
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});
