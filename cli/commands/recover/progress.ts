import { timeLeft, totalOf } from '../../api/recovery-progress.ts';
import { countsOf, type RecoveryReport } from './recovery-text.ts';

/** What a look at a recovery showed. `at`: milliseconds since the epoch. */
export type Look = RecoveryReport & { at: number };

/** Whether nothing that a recovery reopened is open any more; where that is not known, whether the recovery has ended. */
export function isOver({ recovery, outcomes }: RecoveryReport): boolean {
  return recovery.state !== 'running' && totalOf(outcomes ?? []).open === 0;
}

/** A line such as `480 of 1,200 delivered, 20 failed again, about 3 min left`. */
export function progressText(first: Look, last: Look): string {
  const { recovery, outcomes } = last;
  if (outcomes === undefined) return countsOf(recovery);
  const { total, delivered, failed } = totalOf(outcomes);
  const left =
    recovery.state === 'running'
      ? 'looking for more'
      : timeLeft({ at: first.at, outcomes: first.outcomes ?? [] }, { at: last.at, outcomes });
  return [
    `${grouped(delivered)} of ${grouped(total)} delivered`,
    ...(failed === 0 ? [] : [`${grouped(failed)} failed again`]),
    ...(left === undefined ? [] : [left]),
  ].join(', ');
}

function grouped(count: number): string {
  return count.toLocaleString('en');
}
