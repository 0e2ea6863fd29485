import type { Deletion } from '../../api-client/archives.ts';
import { requestsEndText } from '../../api-client/words.ts';
import { commandText } from '../../local/command-name.ts';
import { option } from '../options/arguments.ts';
import { clockTime } from './words.ts';

/** The help of commands that delete what can be restored. */
export const NOW = option('--now', 'delete for good: it cannot be restored');

/** What follows a deletion: for how long a request can still go out, until when and how it can be undone. */
export function restorableText(
  { restorableUntil: until, requestsEndWithinSeconds: seconds }: Deletion,
  undo: string,
): string {
  return [
    until === undefined
      ? 'It cannot be restored.'
      : `It can be restored until ${clockTime(until)}: ${commandText(undo)}`,
    ...(seconds === undefined ? [] : [requestsEndText(seconds)]),
  ].join('\n');
}
