import type * as z from 'zod';
import type { statisticsViewSchema } from '../shared/wire/views/statistics.ts';

type Step = z.output<typeof statisticsViewSchema>['points'][number];
type Counts = Pick<Step, 'messages' | 'matched' | 'filtered'>;

/**
 * Why the messages of a queue match nothing, as the command and the console say it. `steps`: of some time, in order.
 * Undefined: there was no message, or one matched.
 */
export function whyUnmatched(steps: readonly Counts[]): string | undefined {
  const newest = steps.findLast(({ messages }) => messages > 0);
  if (newest === undefined) return undefined;
  if (newest.matched + newest.filtered === 0) return 'its newest messages found no subscription';
  const isFiltered = steps.every(({ matched }) => matched === 0);
  return isFiltered ? 'its subscriptions filtered all messages' : undefined;
}
