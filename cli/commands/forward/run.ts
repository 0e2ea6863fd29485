import { ApiRefusal } from '../../../api-client/refusal.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { hasPullTokenForm } from '../../../shared/domain/subscription/pull-token.ts';
import { accessByToken } from '../../api/api-access.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { apiClient, openApiToWrite } from '../../api/open-api.ts';
import { failureText, reportFailure } from '../../failure-report.ts';
import type { DeploymentOptions, PollOptions } from '../../options/deployment-options.ts';
import { readSecret } from '../../options/input.ts';
import { printable } from '../../output/printable.ts';
import { clockTime } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';
import {
  forwardDeliveries,
  type Forwarded,
  type ForwardOptions,
  operatedPull,
  pullByToken,
  pullRoutes,
  type PullRoutes,
} from './forward-deliveries.ts';
import { postToTarget } from './target.ts';

export type ForwardCommandOptions = DeploymentOptions &
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
export async function runForward(
  subscription: Subscription,
  options: ForwardCommandOptions,
  signal: AbortSignal,
  terminal: Terminal,
): Promise<void> {
  const { to, concurrency, timeout, floor, ceiling, exponent, decrease } = options;
  const token = await givenToken(options, terminal);
  const pull =
    token === undefined
      ? await pullAsOperator(subscription, options, terminal)
      : pullWithToken(subscription, token, options, terminal);
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
      ...reportsOf(options, terminal),
    });
  } catch (error) {
    throw token !== undefined && isTokenRefusal(error) ? tokenProblem(subscription, error) : error;
  }
}

/** The token; undefined: the credentials of the deployment are used. */
async function givenToken(options: ForwardCommandOptions, terminal: Terminal): Promise<string | undefined> {
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

function tokenInEnvironment(
  { local, deployment }: DeploymentOptions,
  { env }: Pick<Terminal, 'env'>,
): string | undefined {
  const token = env['POSTHASTE_PULL_TOKEN'];
  return local === true || deployment !== undefined || token === '' ? undefined : token;
}

async function pullAsOperator(
  { queue, reference }: Subscription,
  options: DeploymentOptions,
  terminal: Terminal,
): Promise<PullRoutes> {
  const api = await openApiToWrite(options, terminal);
  const subscription = await resolveSubscription(api, queue, reference);
  return pullRoutes(api, operatedPull, { queue, subscription });
}

function pullWithToken(
  { queue, reference }: Subscription,
  token: string,
  { url, json }: ForwardCommandOptions,
  { env, sleep, printError }: Terminal,
): PullRoutes {
  const access = accessByToken(url, token, env);
  if (json !== true) printError(`→ ${printable(access.name)}`);
  return pullRoutes(apiClient(access, sleep), pullByToken, { queue, subscription: reference });
}

function isTokenRefusal(error: unknown): error is ApiRefusal {
  return error instanceof ApiRefusal && (error.status === 401 || error.status === 403);
}

function tokenProblem({ queue, reference }: Subscription, cause: ApiRefusal): Problem {
  return new Problem(
    `The token was refused. It must be a valid one of the subscription ${reference} on queue ${queue}, given by its whole id.`,
    { cause },
  );
}

/** Prints what happens. Why nothing can be received is said once, and once when it can again. */
function reportsOf(
  options: DeploymentOptions,
  terminal: Terminal,
): Pick<ForwardOptions, 'onForwarded' | 'onReceived'> {
  const json = options.json === true;
  let said: string | undefined;
  return {
    onForwarded: (forwarded) => {
      if (json) terminal.printJson(forwarded);
      else terminal.print(forwardedText(forwarded, terminal));
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
function forwardedText(forwarded: Forwarded, { styled }: Pick<Terminal, 'styled'>): string {
  const { at, messageId, attempt, durationMs, interval, outcome } = forwarded;
  return line([
    clockTime(at),
    printable(messageId),
    String(attempt),
    `${durationMs} ms`,
    `${Number(interval.toFixed(1))} s`,
    styled(outcome === 'acked' ? 'green' : 'red', statusText(forwarded)),
  ]);
}

function statusText({ status, error = '', notRecorded }: Forwarded): string {
  const answered = status === undefined ? printable(error) : String(status);
  return notRecorded === undefined ? answered : `${answered}; not recorded: ${printable(notRecorded)}`;
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
