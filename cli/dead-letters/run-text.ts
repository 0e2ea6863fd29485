import { Problem } from '../../local/install/problem.mjs';
import { timeText } from '../../shared/wire/fields.ts';
import { failureText } from '../failure-text.ts';
import { counted } from '../../api-client/words.ts';
import { sumOf } from '../output/counts-text.ts';
import { clockTime } from '../output/time-text.ts';
import type { DeadLetterFilter } from './filter.ts';
import { HIDDEN_SECONDS } from './process-dead-letters.ts';
import { RunFailedError, type RunResult } from './run-result.ts';

type Hidden = { hidden: number; hiddenUntil?: string };

/** `missing`: of the wanted ids, how many were not found. */
export type RunOutcome = RunResult & Hidden & { missing: number };

/** The result of a run that is over. */
export function outcomeOf(result: RunResult, { id = [] }: DeadLetterFilter): RunOutcome {
  const { handled, settled, skipped, hidden } = result;
  const isComplete = result.end === 'emptied';
  const missing = isComplete ? Math.max(0, new Set(id).size - handled - sumOf(settled) - sumOf(skipped)) : 0;
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
  const [messages, verb] = [counted(hidden, 'message', 'messages'), hidden === 1 ? 'is' : 'are'];
  const time = clockTime(hiddenUntil).split(' ')[1] ?? '';
  return `About ${messages} ${verb} hidden by another look until ${time} at the latest; repeat then.`;
}

/** A sentence on chosen messages that were not found; undefined if there are none. */
export function missingSentence({ missing }: Pick<RunOutcome, 'missing'>): string | undefined {
  if (missing === 0) return undefined;
  return `${counted(missing, 'chosen message was', 'chosen messages were')} not found.`;
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
