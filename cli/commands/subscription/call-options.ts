import { InvalidArgumentError, type Command } from 'commander';
import * as z from 'zod';
import { Problem } from '../../../local/install/problem.mjs';
import { MIN_PER_SECOND, MAX_PER_SECOND } from '../../../shared/domain/subscription/rate-limit.ts';
import type { SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { jsonOrUndefined } from '../../../api-client/refusal.ts';
import {
  collect,
  jsonObjectOf,
  wholeNumberOf,
  durationOf,
  textOf,
  withMembers,
} from '../../options/arguments.ts';
import { readInput, policyOf } from '../../options/input.ts';
import type { Terminal } from '../../terminal.ts';

/** Command options for the requests to a subscriber. JSON values are source text. */
export type CallOptions = {
  options?: string;
  policy?: string;
  header?: readonly (readonly [name: string, value: string])[];
  postData?: string;
  raw?: true;
  attemptTimeout?: number;
  maxPerSecond?: number;
  retryThrottled?: true;
  adaptToThrottling?: boolean;
  holdWhileDown?: boolean;
  eventType?: readonly string[];
  filter?: string;
  authFile?: string;
  /** What `authFile` contains (`withAuth`). */
  auth?: string;
};

export function addCallOptions(command: Command): Command {
  return command
    .option('--policy <POLICY>', 'retry policy, as JSON or a preset (_retry_policy)', policyOf)
    .option(
      '--header <NAME: VALUE>',
      'add this header to each request; repeatable. Other users see arguments: use --auth-file for credentials',
      collect(headerOf),
    )
    .option('--post-data <TEXT>', 'request body; "$zaqar_message$" in it is replaced by the message')
    .option('--raw', 'send only the data, without the envelope')
    .option('--attempt-timeout <SECONDS>', 'timeout of an attempt', wholeNumberOf(1, 30))
    .option('--max-per-second <NUMBER>', 'maximum requests per second, 0.01 to 1000', rateOf)
    .option('--retry-throttled', 'retry a 429, even if the policy does not list it')
    .option('--adapt-to-throttling', 'slow down to what the subscriber takes; a 429 is retried')
    .option('--no-adapt-to-throttling', 'send at the times of the retry policy, also after refusals')
    .option('--hold-while-down', 'while the subscriber is down, send one probe at a time')
    .option('--no-hold-while-down', 'send at the times of the retry policy, even to one that is down')
    .option('--event-type <TYPE>', 'only messages of this type; repeatable', collect(String))
    .option('--filter <JSON>', 'only messages whose data matches this filter', jsonObjectOf)
    .option('--auth-file <FILE>', 'how requests authenticate (auth), as JSON in this file; - for stdin')
    .option(
      '--options <JSON>',
      'all options, in the form of the API; the options above override them',
      jsonObjectOf,
    );
}

const jsonObject = z.record(z.string(), z.unknown());

/** In bytes; the API's limit for all options. */
const MAX_AUTH_FILE = 65_536;

/**
 * The options with what `--auth-file` contains. A file, because other users of this machine could see secrets in the
 * arguments.
 * @throws Problem that does not quote the file
 */
export async function withAuth<Given extends CallOptions>(given: Given, terminal: Terminal): Promise<Given> {
  const { authFile } = given;
  if (authFile === undefined) return given;
  const auth = await readInput(authFile, MAX_AUTH_FILE, terminal);
  if (!jsonObject.safeParse(jsonOrUndefined(auth)).success)
    throw new Problem('The file for --auth-file must contain a JSON object.');
  return { ...given, auth };
}

/** Whether any of these options was given, apart from `--options`. */
export function isAnyGiven(given: CallOptions): boolean {
  return Object.values(membersOf(given)).some(([, text]) => text !== undefined);
}

/** The source text of the API's `options`: those in `before`, overridden by the given options. */
export function optionsText(given: CallOptions, before = '{}'): string {
  return withMembers(given.options ?? before, membersOf(given));
}

function membersOf(given: CallOptions): [string, string | undefined][] {
  return Object.entries({
    _retry_policy: given.policy,
    post_headers: given.header && textOf(Object.fromEntries(given.header)),
    post_data: textOf(given.postData),
    raw_delivery: textOf(given.raw),
    attempt_timeout: textOf(given.attemptTimeout),
    max_per_second: textOf(given.maxPerSecond),
    retry_throttled: textOf(given.retryThrottled),
    adapt_to_throttling: textOf(given.adaptToThrottling),
    hold_while_down: textOf(given.holdWhileDown),
    event_types: textOf(given.eventType),
    filter: given.filter,
    auth: given.auth,
  } satisfies Record<keyof SubscriptionOptions | 'auth', string | undefined>);
}

function rateOf(text: string): number {
  const rate = text.trim() === '' ? NaN : Number(text);
  if (rate >= MIN_PER_SECOND && rate <= MAX_PER_SECOND) return rate;
  throw new InvalidArgumentError(`Expected a number from ${MIN_PER_SECOND} to ${MAX_PER_SECOND}.`);
}

function headerOf(text: string): readonly [string, string] {
  const at = text.indexOf(':');
  if (at < 1) throw new InvalidArgumentError('Expected NAME: VALUE.');
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

/** Parses a time to live, in seconds. */
export function ttlOf(text: string): number {
  const seconds = durationOf(text);
  if (!Number.isInteger(seconds) || seconds < 1)
    throw new InvalidArgumentError('Expected whole seconds, 1 or more.');
  return seconds;
}
