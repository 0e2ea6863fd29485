import { InvalidArgumentError, Option, type Command } from 'commander';
import { INTERRUPTED } from '../../interruption.ts';
import { addSubscriptionAddress, wholeNumberOf } from '../../options/arguments.ts';
import { onDeployment, VERBOSE, addPollOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import { runForward, type ForwardCommandOptions } from './run.ts';

const MORE = `
Posts each delivery with its signed headers and body, unchanged. A status from
200 to 299 acknowledges it; another status, or none, is a failed attempt under
the retry policy. Redirects are not followed. While the target does not answer,
one delivery at a time is tried, after pauses that grow. This machine makes the
requests, so any http or https URL is allowed.

With a token it needs no AWS credentials: give its file (- for stdin) or set
POSTHASTE_PULL_TOKEN, give the URL of the API with --url or POSTHASTE_API_URL,
and the subscription by its whole id. --local and --deployment ignore the
variable.

Ctrl-C: receives nothing more, finishes what runs, and exits with 0. A second
one, at least a second later, ends it at once: what runs is received again.
Exit status: 1 if the API refuses the token, the credentials or the subscription.
An API or network that fails does not end it.
`;

/** `posthaste forward` */
export function addForward(command: Command, terminal: Terminal): void {
  addSubscriptionAddress(command)
    .requiredOption('--to <URL>', 'where to post the deliveries', targetOf)
    .addOption(
      new Option('--token-file <FILE>', 'receive by the token of the subscription in this file').conflicts([
        'local',
        'deployment',
      ]),
    )
    .addOption(
      new Option('--url <URL>', 'address of the API, with a token').conflicts(['local', 'deployment']),
    )
    .option('--concurrency <N>', 'deliveries posted at the same time', wholeNumberOf(1, 100), 10)
    .option(
      '--timeout <SECONDS>',
      'how long the target may take for an answer',
      wholeNumberOf(1, LONGEST_TIMEOUT),
      30,
    )
    .option('--verbose', VERBOSE)
    .action(async (queue: string, reference: string, options: ForwardCommandOptions) => {
      await terminal.untilInterrupted(
        (signal) => runForward({ queue, reference }, options, signal, terminal),
        () => process.exit(INTERRUPTED),
      );
    });
  addPollOptions(command, 'the subscription while nothing waits');
  onDeployment(command, {
    json: 'one delivery per line: at, messageId, attempt, status, error, durationMs, outcome, notRecorded, interval',
    more: MORE,
    examples: [
      'forward orders pull:laptop --to http://localhost:3000/hook',
      'forward orders 5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11 --to http://localhost:3000/hook --url https://hooks.example.com --token-file token.txt',
    ],
  });
}

/** Seconds: Node's fetch waits no longer for headers. */
const LONGEST_TIMEOUT = 300;

function targetOf(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new InvalidArgumentError('Expected an http or https URL without user and password.');
  return text;
}
