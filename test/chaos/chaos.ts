import { Console } from 'node:console';
import { runInterruptible } from '../support/interruptible.ts';
import { chaosRequestOf, isBalanced, runChaos, type ChaosRequest } from './run.ts';

const USAGE =
  'usage: npm run chaos -- --messages N (1 to 5000, 2000 by default) [--seed S (0 to 4294967290)] [--workers W (0 to 5)] [--json]';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Runs the command and returns the exit status. */
const chaos = ({ json, ...request }: ChaosRequest & { json: boolean }): Promise<number> =>
  runInterruptible(
    async (signal) => {
      const { books, faults, seconds } = await runChaos(request, say, signal);
      const result = { messages: request.messages, ...books, faults, seconds };
      process.stdout.write(`${JSON.stringify(result, undefined, json ? undefined : 2)}\n`);
      return isBalanced(books) ? 0 : 1;
    },
    { failed: 1, say },
  );

const request = chaosRequestOf(process.argv.slice(2));
if (request === undefined) {
  say(USAGE);
  process.exitCode = 2;
} else {
  // Standard output is for the result only, so the progress of the start goes to stderr.
  globalThis.console = new Console(process.stderr);
  process.exitCode = await chaos(request);
}
