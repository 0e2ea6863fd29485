import type { RedrivenQueue } from '../../shared/domain/work-queues.ts';
import { INTERRUPTED } from '../interruption.ts';
import { countsText, sumOf } from '../output/counts-text.ts';
import { DEAD_LETTERS_OF } from './dead-letter-access.ts';
import type { RunEnd, Tally } from './run-result.ts';
import { hiddenSentence, missingSentence, type RunOutcome } from './run-text.ts';

/** The exit status of a run: 1 also where messages were not seen, so that a script repeats it. */
export function statusOf({ end, hidden, missing }: RunOutcome): number {
  return end !== 'interrupted' && hidden + missing > 0 ? 1 : STATUS[end];
}

const STATUS: Record<RunEnd, number> = {
  emptied: 0,
  limit_reached: 0,
  interrupted: INTERRUPTED,
  crowded: 1,
};

/** The part of the result for `--json` that all runs share. */
export function asJson(outcome: RunOutcome, dryRun: boolean): object {
  const { skipped, left, hidden, hiddenUntil, missing } = outcome;
  return {
    skipped: sumOf(skipped),
    left,
    hidden,
    ...(hiddenUntil !== undefined && { hiddenUntil }),
    ...(missing > 0 && { missing }),
    ...(dryRun && { dryRun }),
  };
}

const BEFORE: Record<RunEnd, string> = {
  emptied: '',
  limit_reached: '',
  interrupted: 'Interrupted. ',
  crowded:
    'Stopped: so many messages stay in the queue that SQS returns no further ones. Remove some, then repeat. ',
};

type Words = { done: 'redriven' | 'deleted'; deployment: string; dryRun: boolean };

/** The result as a sentence. The number left is exact only if the queue was emptied and nothing was hidden. */
export function sentenceOf(
  which: RedrivenQueue,
  outcome: RunOutcome,
  { done, deployment, dryRun }: Words,
): string {
  const { end, handled, settled, skipped, left, hidden } = outcome;
  const counts = [
    `${handled} ${dryRun ? `would be ${done}` : done}`,
    ...(settled === undefined ? [] : [`${sumOf(settled)} settled${reasonsOf(settled)}`]),
    `${sumOf(skipped)} skipped${reasonsOf(skipped)}`,
    ...(left === 0 && hidden > 0 ? [] : [`${end === 'emptied' ? '' : 'about '}${left} left`]),
  ];
  const subject = DEAD_LETTERS_OF[which].replace(/^./, (first) => first.toUpperCase());
  const more = [
    dryRun ? 'Nothing was changed.' : undefined,
    missingSentence(outcome),
    hiddenSentence(outcome),
  ];
  return [
    `${BEFORE[end]}${subject} in ${deployment}: ${counts.join(', ')}.`,
    ...more.filter((text) => text !== undefined),
  ].join(' ');
}

export function progressText(which: RedrivenQueue, { handled, skipped, left }: Tally, done: string): string {
  return `${which}: ${handled} ${done}, ${sumOf(skipped)} skipped, ${left} left`;
}

function reasonsOf(reasons: Tally['skipped']): string {
  return Object.keys(reasons).length === 0 ? '' : ` (${countsText(reasons)})`;
}
