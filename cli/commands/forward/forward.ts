import { InvalidArgumentError } from 'commander';
import { ApiRefusal } from '../../../api-client/refusal.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { hasPullTokenForm } from '../../../shared/domain/subscription/pull-token.ts';
import { accessByToken, apiClient, openApiToWrite } from '../../api/api-access.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { failureText, reportFailure } from '../../failure-report.ts';
import { INTERRUPTED } from '../../interruption.ts';
import { option, SUBSCRIPTION_ADDRESS, wholeNumber } from '../../options/arguments.ts';
import { deployed } from '../../options/deployed.ts';
import {
  checkPolling,
  type DeploymentOptions,
  pollOptions,
  type PollOptions,
  VERBOSE,
} from '../../options/deployment-options.ts';
import { readSecret } from '../../options/input.ts';
import { clockTime, printable } from '../../output/text.ts';
import type { Terminal } from '../../terminal.ts';
import {
  forwardDeliveries,
  type Forwarded,
  type ForwardOptions,
  operatedPull,
  pullByToken,
  pullRoutes,
  type PullRoutes,
  postToTarget,
} from './forward-deliveries.ts';

/** Seconds: Node's fetch waits no longer for headers. */
const LONGEST_TIMEOUT = 300;

/** `posthaste forward` */
export const forward = deployed<Options>({
  arguments: SUBSCRIPTION_ADDRESS,
  options: [
    option('--to <URL>', 'where to post the deliveries (required)', parseTarget).makeOptionMandatory(),
    option('--token-file <FILE>', 'receive by the token of the subscription in this file').conflicts([
      'local',
      'deployment',
    ]),
    option('--url <URL>', 'address of the API, with a token').conflicts(['local', 'deployment']),
    option('--concurrency <N>', 'deliveries posted at the same time', wholeNumber(1, 100), 10),
    option(
      '--timeout <SECONDS>',
      'how long the target may take for an answer',
      wholeNumber(1, LONGEST_TIMEOUT),
      30,
    ),
    VERBOSE,
    ...pollOptions('the subscription while nothing waits'),
  ],
  json: 'one delivery per line: at, messageId, attempt, status, error, durationMs, outcome, notRecorded, interval',
  more: `
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
Exit status: 1 if the API refuses the token, the credentials or the
subscription.
An API or network that fails does not end it.
`,
  examples: [
    'forward orders pull:laptop --to http://localhost:3000/hook',
    'forward orders 5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11 --to http://localhost:3000/hook --url https://hooks.example.com --token-file token.txt',
  ],
  run: ({ options, terminal, refuse }, queue, reference) => {
    checkPolling(options, refuse);
    return terminal.untilInterrupted(
      (signal) => forwardUntil(signal, { queue, reference }, options, terminal),
      () => process.exit(INTERRUPTED),
    );
  },
});

function parseTarget(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new InvalidArgumentError('Expected an http or https URL without user and password.');
  return text;
}

type Options = DeploymentOptions &
  PollOptions & {
    to: string;
    url?: string;
    tokenFile?: string;
    concurrency: number;
    timeout: number;
    verbose?: true;
  };

type Subscription = { queue: string; reference: string };

/** Seconds of a lease beyond the target's deadline, for the answer to the API. */
const ANSWER_SECONDS = 30;

/** Forwards until the signal. @throws Problem, and as `forwardDeliveries` */
async function forwardUntil(
  signal: AbortSignal,
  subscription: Subscription,
  options: Options,
  terminal: Terminal,
): Promise<undefined> {
  const { to, concurrency, timeout, floor, ceiling, exponent, decrease } = options;
  const token = await givenToken(options, terminal);
  const pull = await openPull(subscription, token, options, terminal);
  if (options.json !== true) {
    terminal.printError(`Forwarding to ${printable(to)}. Press Ctrl-C to stop.`);
    terminal.print(HEAD);
  }
  try {
    await forwardDeliveries({
      pull,
      post: (delivery) => postToTarget(to, delivery, timeout),
      limits: {
        concurrency,
        leaseSeconds: timeout + ANSWER_SECONDS,
        interval: { floor, ceiling, exponent, decrease },
      },
      signal,
      sleep: terminal.sleep,
      trace: options.verbose === true ? terminal.printError : undefined,
      ...createReports(options, terminal),
    });
  } catch (error) {
    const isDenied = error instanceof ApiRefusal && (error.status === 401 || error.status === 403);
    if (token === undefined || !isDenied) throw error;
    const { queue, reference } = subscription;
    throw new Problem(
      `The token was refused. It must be a valid one of the subscription ${reference} on queue ${queue}, given by its whole id.`,
      { cause: error },
    );
  }
}

/** The token; undefined: the credentials of the deployment are used. */
async function givenToken(options: Options, terminal: Terminal): Promise<string | undefined> {
  const { tokenFile, url } = options;
  const token =
    tokenFile === undefined ? tokenInEnvironment(options, terminal) : await readSecret(tokenFile, terminal);
  if (token === undefined && url !== undefined)
    throw new Problem('--url needs a token, in --token-file or the variable POSTHASTE_PULL_TOKEN.');
  // Nothing of it is printed: it can be another secret.
  if (token !== undefined && !hasPullTokenForm(token))
    throw new Problem('The token has the wrong form. Expected phpull_ and 43 characters.');
  return token;
}

function tokenInEnvironment({ local, deployment }: DeploymentOptions, { env }: Terminal): string | undefined {
  const token = env['POSTHASTE_PULL_TOKEN'];
  return local === true || deployment !== undefined || token === '' ? undefined : token;
}

async function openPull(
  { queue, reference }: Subscription,
  token: string | undefined,
  options: Options,
  terminal: Terminal,
): Promise<PullRoutes> {
  if (token === undefined) {
    const api = await openApiToWrite(options, terminal);
    const subscription = await resolveSubscription(api, queue, reference);
    return pullRoutes(api, operatedPull, { queue, subscription });
  }
  const access = accessByToken(options.url, token, terminal.env);
  if (options.json !== true) terminal.printError(`→ ${printable(access.name)}`);
  return pullRoutes(apiClient(access, terminal.sleep), pullByToken, { queue, subscription: reference });
}

/** Prints what happens. Why nothing can be received is said once, and once when it can again. */
function createReports(
  options: DeploymentOptions,
  terminal: Terminal,
): Pick<ForwardOptions, 'onForwarded' | 'onReceived'> {
  const json = options.json === true;
  let said: string | undefined;
  return {
    onForwarded: (forwarded) => {
      terminal.printResult(options, forwarded, () => forwardedText(forwarded, terminal));
    },
    onReceived: (failure) => {
      const text = failure && failureText(failure);
      if (text === said) return;
      if (failure !== undefined) reportFailure(failure, json, terminal);
      else if (!json) terminal.printError('Receiving again.');
      said = text;
    },
  };
}

/** Rows appear one by one, so the columns have the width of usual contents; the last has what is left. */
const WIDTHS = [19, 36, -7, -9, -8] as const;

const HEAD = line(['Time', 'Message', 'Attempt', 'Duration', 'Interval', 'Status']);

/** A row of the table. */
function forwardedText(forwarded: Forwarded, { styled }: Terminal): string {
  const { at, messageId, attempt, durationMs, outcome, interval } = forwarded;
  const { status, error = '', notRecorded } = forwarded;
  const answered = status === undefined ? printable(error) : String(status);
  return line([
    clockTime(at),
    printable(messageId),
    String(attempt),
    `${durationMs} ms`,
    `${Number(interval.toFixed(1))} s`,
    styled(
      outcome === 'acked' ? 'green' : 'red',
      notRecorded === undefined ? answered : `${answered}; not recorded: ${printable(notRecorded)}`,
    ),
  ]);
}

/** A negative width aligns right. */
function line(cells: readonly string[]): string {
  return cells
    .map((cell, index) => {
      const width = WIDTHS[index] ?? 0;
      return width < 0 ? cell.padStart(-width) : cell.padEnd(width);
    })
    .join('  ');
}
