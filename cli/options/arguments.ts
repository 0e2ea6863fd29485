import { InvalidArgumentError } from 'commander';
import { isQueueName, QUEUE_NAME_RULE } from '../../shared/domain/message/message.ts';

/** URLs take these two for steps on the way, so nothing of that name can be asked for. */
function isDotSegment(text: string): boolean {
  return text === '.' || text === '..';
}

export function queueOf(text: string): string {
  if (!isQueueName(text) || isDotSegment(text)) {
    throw new InvalidArgumentError(`A queue's name is ${QUEUE_NAME_RULE}, but not . or .. alone.`);
  }
  return text;
}

/** Of a message, a subscription or a recovery. */
export function idOf(text: string): string {
  if (text === '' || text.length > 1024 || isDotSegment(text)) {
    throw new InvalidArgumentError('An id is 1 to 1024 characters, but not . or .. alone.');
  }
  return text;
}

export function wholeNumberOf(least: number, most = 999_999_999) {
  return (text: string): number => {
    if (!/^\d{1,9}$/.test(text) || Number(text) < least || Number(text) > most) {
      const range = most === 999_999_999 ? `from ${least}` : `from ${least} to ${most}`;
      throw new InvalidArgumentError(`It takes a whole number ${range}.`);
    }
    return Number(text);
  };
}

/** JSON source text: checked, and passed on as it is, so that no number loses digits. */
export function jsonOf(text: string): string {
  try {
    JSON.parse(text);
    return text.trim();
  } catch (error) {
    throw new InvalidArgumentError(
      `It is not JSON: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** For an option that may be given more than once. */
export function collect<Value>(parse: (text: string) => Value) {
  return (text: string, before: readonly Value[] | undefined): readonly Value[] => [
    ...(before ?? []),
    parse(text),
  ];
}

/** Source text of a JSON object. */
export function jsonObjectOf(text: string): string {
  const source = jsonOf(text);
  if (!source.startsWith('{')) throw new InvalidArgumentError('It takes a JSON object.');
  return source;
}
