import { counted } from '../../api-client/words.ts';
import { Problem } from '../../local/install/problem.mjs';
import { sumOfCounts } from '../../shared/domain/delivery/books.ts';
import type { RedrivenQueue } from '../../shared/domain/work-queues.ts';
import { timeText } from '../../shared/wire/fields.ts';
import { failureText } from '../failure-report.ts';
import { INTERRUPTED } from '../interruption.ts';
import { clockTime, countsText } from '../output/text.ts';
import { DEAD_LETTERS_OF } from './dead-letter-access.ts';
import {
  HIDDEN_SECONDS,
  type RunEnd,
  RunFailedError,
  type RunResult,
  type Tally,
} from './process-dead-letters.ts';

type Hidden = { hidden: number; hiddenUntil?: string };

/** `missing`: of the wanted ids, how many were not found. */
export type RunOutcome = RunResult & Hidden & { missing: number };

/** The result of a run that is over. */
export function toRunOutcome<Result extends RunResult>(
  result: Result,
  { id = [] }: { id?: readonly string[] | undefined },
): Result & RunOutcome {
  const { handled, settled, skipped, hidden } = result;
  const isComplete = result.end === 'emptied';
  const missing = isComplete
    ? Math.max(0, new Set(id).size - handled - sumOfCounts(settled) - sumOfCounts(skipped))
    : 0;
  // What others hold matters to a run that looked for something else only if it missed something.
  const unseen = id.length > 0 && missing === 0 ? 0 : hidden;
  return { ...result, ...hiddenFields(unseen, Date.now()), missing };
}

/**
 * When messages that another program holds are visible again at the latest, if that is a command of Posthaste. Only the
 * other program knows when it received them.
 */
export function hiddenFields(hidden: number, now: number): Hidden {
  return hidden === 0 ? { hidden } : { hidden, hiddenUntil: timeText(now + HIDDEN_SECONDS * 1000) };
}

/** A sentence on the messages that could not be seen; undefined if there are none. */
export function hiddenSentence({ hidden, hiddenUntil }: Hidden): string | undefined {
  if (hiddenUntil === undefined) return undefined;
  const time = clockTime(hiddenUntil).split(' ')[1] ?? '';
  return `About ${counted(hidden, 'message is', 'messages are')} hidden by another look until ${time} at the latest; repeat then.`;
}

/** For `catch`: what a run did before it failed, with advice. `what`: such as "The redrive". */
export function runProblem(what: string, hiddenFor: string): (failure: unknown) => never {
  return (failure) => {
    if (!(failure instanceof RunFailedError)) throw failure;
    const why = failure.causes.map(failureText).join('; ');
    throw new Problem(
      `${what} stopped after ${counted(failure.handled, 'message', 'messages')}: ${why}. ` +
        `Repeat the command to continue; messages it held may stay hidden for ${hiddenFor}.`,
      { cause: failure },
    );
  };
}

/** The exit status of a run: 1 also where messages were not seen, so that a script repeats it. */
export function chooseExitStatus({ end, hidden, missing }: RunOutcome): number {
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
    skipped: sumOfCounts(skipped),
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

/** The result as a sentence. The number left is exact only if the queue was emptied and nothing was hidden. */
export function describeOutcome(
  which: RedrivenQueue,
  outcome: RunOutcome,
  { done, deployment, dryRun }: { done: string; deployment: string; dryRun: boolean },
): string {
  const { end, handled, settled, skipped, left, hidden, missing } = outcome;
  const counts = [
    `${handled} ${dryRun ? `would be ${done}` : done}`,
    ...(settled === undefined ? [] : [`${sumOfCounts(settled)} settled${formatReasons(settled)}`]),
    `${sumOfCounts(skipped)} skipped${formatReasons(skipped)}`,
    ...(left === 0 && hidden > 0 ? [] : [`${end === 'emptied' ? '' : 'about '}${left} left`]),
  ];
  const subject = DEAD_LETTERS_OF[which].replace(/^./, (first) => first.toUpperCase());
  const sentences = [
    `${BEFORE[end]}${subject} in ${deployment}: ${counts.join(', ')}.`,
    dryRun && 'Nothing was changed.',
    missing > 0 && `${counted(missing, 'chosen message was', 'chosen messages were')} not found.`,
    hiddenSentence(outcome),
  ];
  return sentences.filter(Boolean).join(' ');
}

export function progressText(which: RedrivenQueue, { handled, skipped, left }: Tally, done: string): string {
  return `${which}: ${handled} ${done}, ${sumOfCounts(skipped)} skipped, ${left} left`;
}

function formatReasons(reasons: Tally['skipped']): string {
  return Object.keys(reasons).length === 0 ? '' : ` (${countsText(reasons)})`;
}
