import { parseArgs } from 'node:util';

import { INTERRUPTED, untilInterrupted } from '../../cli/interruption.ts';
import { wholeNumber } from '../support/whole-number.ts';
import { runHostile, type HostileRequest } from './campaign.ts';
import { report } from './report.ts';

const USAGE =
  'usage: npm run hostile -- [--seed S (0 to 4294967295)] [--timeout SECONDS (of an attempt, 2 to 30, 15 by default)] [--json]';

type Request = HostileRequest & { json: boolean };

/** Undefined: not to be understood. */
const requestOf = (args: readonly string[]): Request | undefined => {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        seed: { type: 'string', default: '1' },
        timeout: { type: 'string', default: '15' },
        json: { type: 'boolean', default: false },
      },
    });
    const seed = wholeNumber(values.seed, 0, 0xffffffff);
    const timeout = wholeNumber(values.timeout, 2, 30);
    if (seed === undefined || timeout === undefined) return undefined;
    return { seed, attemptTimeoutMs: timeout * 1000, json: values.json };
  } catch {
    // parseArgs throws for what it does not know; the usage line says what it does.
    return undefined;
  }
};

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** The exit status. */
const hostile = async ({ json, ...request }: Request): Promise<number> => {
  const interruption: { signal?: AbortSignal } = {};
  try {
    const result = await untilInterrupted((signal) => {
      interruption.signal = signal;
      return runHostile(request, say, signal);
    });
    const text = json ? JSON.stringify({ ...request, ...result }) : report(result, request);
    process.stdout.write(`${text}\n`);
    return result.broken.length === 0 ? 0 : 1;
  } catch (error) {
    // An interruption ends the processes, and whatever waits for them says so in its own way.
    if (interruption.signal?.aborted !== true) throw error;
    say('Interrupted.');
    return INTERRUPTED;
  }
};

const request = requestOf(process.argv.slice(2));
if (request === undefined) {
  say(USAGE);
  process.exitCode = 2;
} else {
  process.exitCode = await hostile(request);
}
