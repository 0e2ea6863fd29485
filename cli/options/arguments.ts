import { Argument, InvalidArgumentError, Option } from 'commander';
import { type CalendarTime, parseLastTime, parseTimeOfDay } from '../../api-client/calendar-time.ts';
import { EVENT_TYPE_NAME_RULE, isEventTypeName } from '../../shared/domain/event-type/event-type.ts';
import { isQueueName, QUEUE_NAME_RULE } from '../../shared/domain/message/message.ts';
import { MAX_PER_SECOND, MIN_PER_SECOND } from '../../shared/domain/subscription/rate-limit.ts';

/** URL parsers resolve `.` and `..`, so a resource of that name cannot be addressed. */
function isDotSegment(text: string): boolean {
  return text === '.' || text === '..';
}

export function parseQueue(text: string): string {
  if (isQueueName(text) && !isDotSegment(text)) return text;
  throw new InvalidArgumentError(`A queue name is ${QUEUE_NAME_RULE}, except . and .. alone.`);
}

export function parseEventType(text: string): string {
  if (isEventTypeName(text)) return text;
  throw new InvalidArgumentError(`The name of an event type is ${EVENT_TYPE_NAME_RULE}.`);
}

/** The id of a message or a recovery. */
export function parseId(text: string): string {
  if (text !== '' && text.length <= 1024 && !isDotSegment(text)) return text;
  throw new InvalidArgumentError('An id is 1 to 1024 characters, except . and .. alone.');
}

export const SUBSCRIPTION = 'its id, 4 or more characters of its start, its name or its URL';

/** What identifies a subscription, for `resolveSubscription`. */
export function parseSubscription(text: string): string {
  if (text === '' || text.length > 2048)
    throw new InvalidArgumentError(`A subscription is given by ${SUBSCRIPTION}.`);
  return text;
}

/** An option as `command.option` takes it. */
export function option<Value>(
  flags: string,
  description: string,
  parse?: (text: string, before: Value) => Value,
  preset?: Value,
): Option {
  const made = new Option(flags, description).default(preset);
  return parse === undefined ? made : made.argParser(parse);
}

export function argument(
  flags: string,
  description: string,
  parse = (text: string): unknown => text,
): Argument {
  return new Argument(flags, description).argParser(parse);
}

export const QUEUE = argument('<queue>', 'name of the queue', parseQueue);
export const MESSAGE_ADDRESS = [QUEUE, argument('<message>', 'id of the message', parseId)];
export const SUBSCRIPTION_ADDRESS = [QUEUE, argument('<subscription>', SUBSCRIPTION, parseSubscription)];
export const DELIVERY_ADDRESS = [...MESSAGE_ADDRESS, ...SUBSCRIPTION_ADDRESS.slice(1)];

export function wholeNumber(least: number, most = 999_999_999) {
  return (text: string): number => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (value >= least && value <= most) return value;
    const isOpen = most === 999_999_999 && !/^\d{10,}$/.test(text);
    const range = isOpen ? `of ${least} or more` : `from ${least} to ${most}`;
    throw new InvalidArgumentError(`Expected a whole number ${range}.`);
  };
}

export function decimal(least: number, most: number, rule = `a number from ${least} to ${most}`) {
  return (text: string): number => {
    const value = Number(text);
    if (/^\d{1,9}(\.\d{1,9})?$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Expected ${rule}.`);
  };
}

/** Of a server on this machine. */
export const PORT = option('--port <N>', 'port on 127.0.0.1 (default: a free port)', wholeNumber(1, 65_535));

/** Of commands that delete what can be restored. */
export const NOW = option('--now', 'delete for good: it cannot be restored');

/** Validated JSON source text. It stays text so that long numbers keep their digits. */
export function parseJsonText(text: string): string {
  try {
    JSON.parse(text);
    return text.trim();
  } catch (error) {
    throw new InvalidArgumentError(`Invalid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A parser for an option that may be repeated. */
export function collect<Value>(parse: (text: string) => Value) {
  return (text: string, before: readonly Value[] | undefined): readonly Value[] => [
    ...(before ?? []),
    parse(text),
  ];
}

/** Validated source text of a JSON object. */
export function parseJsonObjectText(text: string): string {
  const source = parseJsonText(text);
  if (!source.startsWith('{')) throw new InvalidArgumentError('Expected a JSON object.');
  return source;
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

export const TIME_FORMS =
  'a time such as 2026-11-21 14:00 (local, or with a zone) or 14:00 (the last one), or an age such as 90s, 1h, 2d';

/** Seconds of an age such as 90s, 30m, 1h, 2d; undefined for other texts. */
export function parseAge(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (SECONDS[unit] ?? NaN);
}

/** Parses a time, or an age before now, to milliseconds since the epoch. Without a day it is of today. */
export function parseTime(text: string): number {
  return parseTimeBy(parseTimeOfDay, text);
}

/** The same for the beginning of a window: a time without a day is the last one. */
export function parseSince(text: string): number {
  return parseTimeBy(parseLastTime, text);
}

function parseTimeBy(parse: (text: string, now: number) => CalendarTime | undefined, text: string): number {
  const seconds = parseAge(text);
  const now = Date.now();
  const at = seconds === undefined ? parse(text, now)?.at : now - seconds * 1000;
  if (at !== undefined) return at;
  throw new InvalidArgumentError(
    'Expected a time such as 2026-11-21 14:00, 2026-11-21T12:00:00Z, 2026-11-21 or 14:00, or an age such as 90s, 30m, 1h, 2d.',
  );
}

/** The same as `parseSince`, but refuses a time in the future. */
export function parsePastTime(text: string): number {
  const at = parseSince(text);
  if (at > Date.now()) throw new InvalidArgumentError('The time must not be in the future.');
  return at;
}

/** Parses a time to come, to milliseconds since the epoch. Without a day it is of today. */
export function parseFutureTime(text: string): number {
  const now = Date.now();
  const at = parseTimeOfDay(text, now)?.at;
  if (at === undefined)
    throw new InvalidArgumentError(
      'Expected a time such as 2026-11-21 14:00, 2026-11-21T12:00:00Z or 14:00.',
    );
  if (at <= now) throw new InvalidArgumentError('The time must be in the future.');
  return at;
}

/** Parses a duration such as `90`, `90s`, `30m`, `1h` or `2d` to seconds. */
export function parseDuration(text: string): number {
  const seconds = /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Number(text) : parseAge(text);
  if (seconds !== undefined) return seconds;
  throw new InvalidArgumentError('Expected seconds, or a duration such as 90s, 30m, 1h, 2d.');
}

/** The same, to whole seconds. */
export function wholeSeconds(least: number, most = Infinity, rule = `whole seconds, ${least} or more`) {
  return (text: string): number => {
    const seconds = parseDuration(text);
    if (Number.isInteger(seconds) && seconds >= least && seconds <= most) return seconds;
    throw new InvalidArgumentError(`Expected ${rule}.`);
  };
}

/** Parses a rate in requests per second. */
export function parseRate(text: string): number {
  const rate = text.trim() === '' ? NaN : Number(text);
  if (rate >= MIN_PER_SECOND && rate <= MAX_PER_SECOND) return rate;
  throw new InvalidArgumentError(`Expected a number from ${MIN_PER_SECOND} to ${MAX_PER_SECOND}.`);
}

/** The value of JSON text. `message`: the fault as the end of a sentence. */
export function parsedJson(text: string): { ok: true; value: unknown } | { ok: false; message: string } {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, message: `is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** JSON members as source text: parsing and serialising them would drop digits of long numbers. */
type Members = Readonly<Record<string, string | undefined>>;

/** The source text of an object with these members, without undefined ones. */
export function objectText(members: Members): string {
  return withMembers('{}', members);
}

/**
 * An object's source text with these members appended; they win, as the last of a duplicate name counts (RFC 8259 §4).
 */
export function withMembers(object: string, members: Members): string {
  const before = object.trim().slice(1, -1).trim();
  const added = Object.entries(members).flatMap(([name, source]) =>
    source === undefined ? [] : [`${JSON.stringify(name)}:${source}`],
  );
  return `{${[...(before === '' ? [] : [before]), ...added].join(',')}}`;
}

/** The JSON text of a value. */
export function jsonText(value: unknown): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}
