import { Console } from 'node:console';
import { parseArgs } from 'node:util';
import { Problem } from '../../local/install/problem.mjs';
import { untilInterrupted } from '../../cli/interruption.ts';
import { wholeNumber } from '../support/whole-number.ts';
import { isBalanced, runChaos, type ChaosRequest } from './run.ts';

const USAGE =
  'usage: npm run chaos -- --messages N (1 to 5000, 2000 by default) [--seed S (0 to 4294967290)] [--json]';

type Request = ChaosRequest & { json: boolean };

/** Undefined: not to be understood. */
const requestOf = (args: readonly string[]): Request | undefined => {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        messages: { type: 'string', default: '2000' },
        seed: { type: 'string', default: '1' },
        json: { type: 'boolean', default: false },
      },
    });
    // More is more than the local AWS can take.
    const messages = wholeNumber(values.messages, 1, 5_000);
    const seed = wholeNumber(values.seed, 0, 4_294_967_290);
    return messages === undefined || seed === undefined ? undefined : { messages, seed, json: values.json };
  } catch {
    // parseArgs throws for what it does not know; the usage line says what it does.
    return undefined;
  }
};

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** The exit status. */
const chaos = async ({ json, ...request }: Request): Promise<number> => {
  try {
    const { books, faults, seconds } = await untilInterrupted((signal) => runChaos(request, say, signal));
    const result = { messages: request.messages, ...books, faults, seconds };
    process.stdout.write(`${JSON.stringify(result, undefined, json ? undefined : 2)}\n`);
    return isBalanced(books) ? 0 : 1;
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') {
      say('Interrupted.');
      return 130;
    }
    if (!(error instanceof Problem)) throw error;
    say(error.message);
    return 1;
  }
};

const request = requestOf(process.argv.slice(2));
if (request === undefined) {
  say(USAGE);
  process.exitCode = 2;
} else {
  // How the start comes along is no result: standard output is for that alone.
  globalThis.console = new Console(process.stderr);
  process.exitCode = await chaos(request);
}
