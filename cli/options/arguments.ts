import { InvalidArgumentError } from 'commander';
import { isQueueName, QUEUE_NAME_RULE } from '../../shared/domain/message/message.ts';

/** URL parsers resolve `.` and `..`, so a resource of that name cannot be addressed. */
function isDotSegment(text: string): boolean {
  return text === '.' || text === '..';
}

export function queueOf(text: string): string {
  if (!isQueueName(text) || isDotSegment(text)) {
    throw new InvalidArgumentError(`A queue name is ${QUEUE_NAME_RULE}, except . and .. alone.`);
  }
  return text;
}

/** The id of a message or a recovery. */
export function idOf(text: string): string {
  if (text === '' || text.length > 1024 || isDotSegment(text)) {
    throw new InvalidArgumentError('An id is 1 to 1024 characters, except . and .. alone.');
  }
  return text;
}

export const SUBSCRIPTION = 'its id, 4 or more characters of its start, its name or its URL';

/** What identifies a subscription, for `resolveSubscription`. */
export function subscriptionOf(text: string): string {
  if (text === '' || text.length > 2048)
    throw new InvalidArgumentError(`A subscription is given by ${SUBSCRIPTION}.`);
  return text;
}

export function wholeNumberOf(least: number, most = 999_999_999) {
  return (text: string): number => {
    if (!/^\d{1,9}$/.test(text) || Number(text) < least || Number(text) > most) {
      const range = most === 999_999_999 ? `of ${least} or more` : `from ${least} to ${most}`;
      throw new InvalidArgumentError(`Expected a whole number ${range}.`);
    }
    return Number(text);
  };
}

/** Validated JSON source text. It stays text so that long numbers keep their digits. */
export function jsonOf(text: string): string {
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
export function jsonObjectOf(text: string): string {
  const source = jsonOf(text);
  if (!source.startsWith('{')) throw new InvalidArgumentError('Expected a JSON object.');
  return source;
}
