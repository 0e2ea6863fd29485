import { InvalidArgumentError, type Command } from 'commander';
import { LEAST_PER_SECOND, MOST_PER_SECOND } from '../../../shared/domain/subscription/rate-limit.ts';
import { collect, jsonObjectOf, wholeNumberOf } from '../../options/arguments.ts';
import { durationOf } from '../../options/time.ts';
import { textOf, withMembers } from '../../options/json-text.ts';

/** How a subscriber wants to be called, as options of a command. JSON is source text. */
export type HowToCall = {
  options?: string;
  policy?: string;
  header?: readonly (readonly [name: string, value: string])[];
  postData?: string;
  raw?: true;
  attemptTimeout?: number;
  maxPerSecond?: number;
  eventType?: readonly string[];
  filter?: string;
};

export function addHowToCall(command: Command): Command {
  return command
    .option('--policy <JSON>', 'its retry policy: _retry_policy', jsonObjectOf)
    .option('--header <NAME: VALUE>', 'send this header along; may be repeated', collect(headerOf))
    .option('--post-data <TEXT>', 'send this text, in which "$zaqar_message$" stands for the message')
    .option('--raw', 'send the bare data')
    .option('--attempt-timeout <SECONDS>', 'seconds for an attempt', wholeNumberOf(1, 30))
    .option('--max-per-second <NUMBER>', 'requests a second that it takes, 0.01 to 1000', rateOf)
    .option('--event-type <TYPE>', 'only messages of this type; may be repeated', collect(String))
    .option('--filter <JSON>', 'only messages whose data this filter lets through', jsonObjectOf)
    .option(
      '--options <JSON>',
      'all options in the form of the API; those above are put over them',
      jsonObjectOf,
    );
}

export function isSaid(how: HowToCall): boolean {
  return Object.values(membersOf(how)).some(([, text]) => text !== undefined);
}

/** The source text of `options`. */
export function optionsText(how: HowToCall, before = '{}'): string {
  return withMembers(how.options ?? before, membersOf(how));
}

function membersOf(how: HowToCall): (readonly [string, string | undefined])[] {
  return [
    ['_retry_policy', how.policy],
    ['post_headers', how.header && textOf(Object.fromEntries(how.header))],
    ['post_data', textOf(how.postData)],
    ['raw_delivery', textOf(how.raw)],
    ['attempt_timeout', textOf(how.attemptTimeout)],
    ['max_per_second', textOf(how.maxPerSecond)],
    ['event_types', textOf(how.eventType)],
    ['filter', how.filter],
  ];
}

function rateOf(text: string): number {
  const rate = text.trim() === '' ? NaN : Number(text);
  if (rate >= LEAST_PER_SECOND && rate <= MOST_PER_SECOND) return rate;
  throw new InvalidArgumentError(`It takes a number from ${LEAST_PER_SECOND} to ${MOST_PER_SECOND}.`);
}

function headerOf(text: string): readonly [string, string] {
  const at = text.indexOf(':');
  if (at < 1) throw new InvalidArgumentError('It takes name: value.');
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

/** Seconds for which a subscription lives. */
export function ttlOf(text: string): number {
  const seconds = durationOf(text);
  if (!Number.isInteger(seconds) || seconds < 1)
    throw new InvalidArgumentError('It takes whole seconds, from 1.');
  return seconds;
}
