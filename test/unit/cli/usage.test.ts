import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { programWith } from '../../../cli/run-command.ts';
import { terminalIn } from '../../../cli/terminal.ts';
import { usage } from '../../../local/options.mjs';
import { captured, leavesOf, type Line, posthaste } from './run-command.ts';

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

// Loads the modules of all commands: as an import it has no timeout of a hook.
const everyCommand = await programWith(() => true, terminalIn(captured()));
const leaves = leavesOf(everyCommand).map(({ words, command }) => ({ name: words.join(' '), command }));

const optionsIn = (example: string) => [...example.matchAll(/ (--[a-z-]+)/g)].map(([, name]) => name);
const optionsOf = (command: Command) => command.options.map(({ long }) => long);

describe('the help of every command', () => {
  it('has an example that starts with the command and uses only options that exist', () => {
    expect(leaves.length).toBeGreaterThan(30);
    for (const { name, command } of leaves) {
      const examples = [...helpOf(command).matchAll(/npm run -s posthaste -- (.+)/g)];
      expect(examples.length, name).toBeGreaterThan(0);
      for (const [, example = ''] of examples) {
        expect(example.startsWith(name), example).toBe(true);
        expect(optionsOf(command), example).toEqual(expect.arrayContaining(optionsIn(example)));
      }
    }
  });

  it('has --json, except where docs/command.md says so', () => {
    const without = leaves.filter(({ command }) => !optionsOf(command).includes('--json'));
    const known = [
      'subscription export',
      'event-types export',
      'event-types types',
      ...['worker', 'start', 'completion'],
    ];
    expect(without.map(({ name }) => name)).toEqual(known);
  });

  it('describes each command and option', () => {
    for (const { name, command } of leaves) {
      expect(command.description() !== '' || !name.includes(' '), name).toBe(true);
      for (const { flags, description } of command.options) expect(description, flags).not.toBe('');
    }
  });

  it('says where a start says Ctrl-C that its data is lost', async () => {
    const { stdout } = await posthaste(['start', '--help']);
    expect(stdout).toMatch(/until Ctrl-C.*Its data is lost/s);
    expect(usage).toMatch(/until Ctrl-C.*Its data is lost/s);
  });

  it('covers every command and option in docs/command.md, which shows every command', async () => {
    const docs = await readFile(path.join(import.meta.dirname, '../../../docs/command.md'), 'utf8');
    const shown = new Set<string>();
    for (const [, example = ''] of docs.matchAll(/^(?:.* \| )?posthaste (.+)$/gm)) {
      const leaf = leaves.find(({ name }) => `${example} `.startsWith(`${name} `));
      if (leaf === undefined) throw new Error(`There is no command ${example}`);
      shown.add(leaf.name);
      expect(optionsOf(leaf.command), example).toEqual(expect.arrayContaining(optionsIn(example)));
    }
    expect([...shown].toSorted()).toEqual(leaves.map(({ name }) => name).toSorted());
  });

  it('is wrapped to the width of the terminal, except what is to be pasted', () => {
    for (const { name, command } of leaves) {
      const long = helpOf(command)
        .split('\n')
        .filter((line) => line.length > 80 && !line.startsWith('  $ '));
      expect(long, name).toEqual([]);
    }
    expect(usage.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it('is available for a group of commands', async () => {
    const { status, stdout } = await posthaste(['help', 'subscription']);
    expect(status).toBe(0);
    expect(stdout).toContain('rotate-secret');
  });
});

describe('a usage error', () => {
  it.each<[string, Line]>([
    ['an unknown command', 'que'],
    ['an unknown subcommand', 'queue lst'],
    ['the help of an unknown command', 'nosuch --help'],
    ['the help of an unknown subcommand', 'queue lst -h'],
    ['the help command of an unknown command', 'help nosuch'],
    ['an unknown option', 'queue list --jsn'],
    ['an option without its value', 'policy preview --policy'],
    ['an excess argument', 'policy preview {}'],
    ['an unknown dead-letter queue', 'redrive retry'],
    ['a time in the future', 'redrive ingress --since 2999-01-01T00:00:00Z'],
    ['another queue for what is no ingress message', 'redrive delivery --to-queue orders'],
    ['a limit of zero', 'redrive ingress --limit 0'],
    ['no choice of dead letters', 'deadletters delete ingress --yes'],
    ['all dead letters and a filter', 'deadletters delete ingress --all --queue orders'],
    ['settled dead letters of another queue', 'deadletters delete ingress --settled'],
    ['a queue name that is a dot segment', 'queue delete ..'],
    ['a policy that is not JSON', 'queue create q --policy {'],
    ['a policy that is not an object', 'queue create q --policy 3'],
    ['a metadata key without a value', 'queue set q --set owner'],
    ['no change of a queue', 'queue set q'],
    ['no change of a subscription', 'subscription update q s'],
    ['credentials that are neither sealed nor plain', 'subscription export q --with-credentials'],
    [
      'credentials both sealed and plain',
      'subscription export q --with-credentials --plain --recipient age1x',
    ],
    ['nothing to seal', 'subscription export q --recipient age1x'],
    ['a header without a value', 'subscription create q https://example.com --header x'],
    ['a fractional time to live', 'subscription create q https://example.com --ttl 0.5'],
    ['data and a file', 'publish q --data 1 --file x'],
    ['data that is not JSON', ['publish', 'q', '--data', '{a: 1}']],
    ['an example and data', 'publish q --example a --data 1'],
    ['an event type with a blank in its name', ['event-types', 'show', 'a b']],
    ['an id for many messages', 'publish q --id x --file x'],
    ['a delay above the limit of SQS', 'publish q --data 1 --delay 901'],
    ['a status that the list omits', 'deliveries list q --status delivered'],
    ['a message and a status', 'deliveries list q --message m --status rejected'],
    ['all deliveries without a subscription', 'deliveries list q --all'],
    ['a search for nothing', ['find', '']],
    ['a missing argument', 'retry q m'],
    ['a recovery without --since', 'recover start q'],
    ['a recovery without a queue', 'recover start --since 1h'],
    ['a recovery of one queue and of all', 'recover start q --all-queues --since 1h'],
    ['a subscription of all queues', 'recover start --all-queues --subscription s --since 1h'],
    ['a period that ends before it starts', 'recover start q --since 1h --until 2h'],
    ['an invalid answer script', 'listen --answer 200,banana'],
    ['a secret as an argument', 'listen --secret whpk_short'],
    ['a policy without --subscribe', 'listen --policy {}'],
    ['an invalid port', 'proxy --port 65536'],
    ['an invalid port of a start', 'start --port 65536'],
    ['a setting without a value', 'start -c retentionDays'],
    ['two deployments', 'doctor --local --deployment Posthaste'],
  ])('is one sentence that leads to the help, before any request: %s', async (_, args) => {
    const { status, stdout, stderr } = await posthaste(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(
      /^error: .+\n(\(Did you mean .+\?\)\n)?See npm run -s posthaste --( \w[\w-]+){0,2} --help\n$/,
    );
  });

  const FORWARD = ['forward', 'orders', 's-1', '--to', 'http://localhost/'];
  const PLAN = ['plan', '--messages-per-day', '10'];

  it.each<[args: string[], option: string, value: string, sentence?: string]>([
    [['plan'], '--messages-per-day', 'many'],
    [PLAN, '--fan-out', '0'],
    [PLAN, '--failure-rate', '1.5'],
    [PLAN, '--failing-for', 'long'],
    [PLAN, '--payload-bytes', '1048577'],
    [PLAN, '--batch-window-seconds', '61'],
    [PLAN, '--peak-factor', '0.5'],
    [PLAN, '--first-attempts-per-job', '26'],
    [['worker'], '--steps', 'deliver,api'],
    [['worker'], '--steps', ''],
    [['worker', '--ceiling', '2'], '--floor', '5'],
    [['worker'], '--exponent', '0.5'],
    [['worker'], '--shutdown-seconds', '1'],
    [['worker'], '--concurrency', '0'],
    [[...FORWARD, '--floor', '5'], '--ceiling', '2', "option '--ceiling' must be at least '--floor'"],
    [FORWARD, '--to', 'ftp://localhost/', 'an http or https URL without user and password.'],
    [FORWARD, '--to', 'http://ada:secret@localhost/', 'an http or https URL without user and password.'],
  ])('names the option that has a wrong value: %j %s %j', async (args, option, value, sentence = option) => {
    const { status, stdout, stderr } = await posthaste([...args, option, value]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(sentence);
  });

  it('says what is wrong with a name', async () => {
    const { stderr } = await posthaste(['queue', 'show', 'a b']);
    expect(stderr).toMatch(
      /^error: .* A queue name is 1 to 64 .*\nSee npm run -s posthaste -- queue show --help\n$/,
    );
  });

  it('exits with status 2 in every command', async () => {
    for (const { name } of leaves) {
      const { status, stdout } = await posthaste(`${name} --no-such-option`);
      expect({ status, stdout }, name).toEqual({ status: 2, stdout: '' });
    }
  });

  it.each<Line>([[], 'queue'])('starts with a sentence if the command is missing: %j', async (line) => {
    const { stderr } = await posthaste(line);
    expect(stderr).toMatch(/^error: missing command; choose one of those below\n\nUsage: posthaste/);
  });
});
