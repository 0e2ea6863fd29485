import { INTERRUPTED, untilInterrupted } from '../../cli/interruption.ts';
import { hostileRequestOf, runHostile, type HostileRequest } from './campaign.ts';
import { report } from './report.ts';

const USAGE =
  'usage: npm run hostile -- [--seed S (0 to 4294967295)] [--timeout SECONDS (of an attempt, 2 to 30, 15 by default)] [--json]';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** The exit status. */
const hostile = async ({ json, ...request }: HostileRequest & { json: boolean }): Promise<number> => {
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

const request = hostileRequestOf(process.argv.slice(2));
if (request === undefined) {
  say(USAGE);
  process.exitCode = 2;
} else {
  process.exitCode = await hostile(request);
}
