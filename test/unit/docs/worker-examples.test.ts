import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addWorker } from '../../../cli/commands/worker/worker.ts';
import { terminalIn } from '../../../cli/terminal.ts';

const example = (name: string): string =>
  readFileSync(new URL(`../../../examples/worker/${name}`, import.meta.url), 'utf8');

const files = ['Containerfile', 'kubernetes.yaml', 'posthaste-worker.service'];

const command = new Command('worker');
addWorker(command, terminalIn(process));
const known = command.options.map(({ long }) => long);

/** The number behind the first match, in seconds. */
const secondsIn = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1]);

describe('the examples of a worker', () => {
  it.each(files)('start it in %s with options that it has', (file) => {
    const commands = example(file)
      .split('\n')
      .filter((line) => /ENTRYPOINT|args:|ExecStart|posthaste worker/.test(line));
    const options = commands.flatMap((line) => line.match(/--[a-z-]+/g) ?? []);
    const ofOthers = ['--env-file'];
    expect(options.length).toBeGreaterThan(0);
    expect(options.filter((option) => !known.includes(option) && !ofOthers.includes(option))).toEqual([]);
  });

  it.each([
    ['kubernetes.yaml', /terminationGracePeriodSeconds: (\d+)/, /'--shutdown-seconds', '(\d+)'/],
    ['posthaste-worker.service', /TimeoutStopSec=(\d+)/, /--shutdown-seconds (\d+)/],
  ])('give the worker in %s longer to end than it takes', (file, limit, shutdown) => {
    const text = example(file);
    expect(secondsIn(text, limit)).toBeGreaterThan(secondsIn(text, shutdown));
  });

  it('probe the health routes that the container serves', () => {
    expect(example('Containerfile')).toContain('"--health-port", "8080"');
    expect(example('kubernetes.yaml')).toContain('containerPort: 8080');
    expect(example('kubernetes.yaml').match(/path: (\S+),/g)).toEqual(['path: /health,', 'path: /ready,']);
  });
});
