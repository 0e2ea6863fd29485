import { commandText } from '../../local/command-name.ts';
import { clockTime } from './words.ts';

/** The help of commands that delete what can be restored. */
export const NOW_OPTION = ['--now', 'delete for good: it cannot be restored'] as const;

/** What follows a deletion: until when and how it can be undone. */
export function restorableText(until: string | undefined, undo: string): string {
  return until === undefined
    ? 'It cannot be restored.'
    : `It can be restored until ${clockTime(until)}: ${commandText(undo)}`;
}
