import { inUnits } from '../../../shared/domain/duration.ts';
import type { RecoveryOutcomes } from '../../../shared/domain/recovery/outcomes.ts';
import { countsOf, type RecoveryReport } from './recovery-text.ts';

/** What a look at a recovery showed. `at`: milliseconds since the epoch. */
export type Look = RecoveryReport & { at: number };

/** Whether nothing that a recovery reopened is open any more, as far as that is known. */
export function isOver({ recovery, outcomes }: RecoveryReport): boolean {
  return recovery.state !== 'running' && totalOf(outcomes ?? []).open === 0;
}

/** Counts over all subscriptions. */
export function totalOf(
  outcomes: readonly RecoveryOutcomes[],
): Pick<RecoveryOutcomes, 'total' | 'delivered' | 'failed' | 'open'> {
  const sum = { total: 0, delivered: 0, failed: 0, open: 0 };
  for (const one of outcomes) {
    sum.total += one.total;
    sum.delivered += one.delivered;
    sum.failed += one.failed;
    sum.open += one.open;
  }
  return sum;
}

/** A line such as `480 of 1,200 delivered, 20 failed again, about 3 min left`. */
export function progressText(first: Look, last: Look): string {
  const { recovery, outcomes } = last;
  if (outcomes === undefined) return countsOf(recovery);
  const { total, delivered, failed } = totalOf(outcomes);
  return [
    `${grouped(delivered)} of ${grouped(total)} delivered`,
    ...(failed === 0 ? [] : [`${grouped(failed)} failed again`]),
    ...(recovery.state === 'running' ? ['looking for more'] : timeLeft(first, last)),
  ].join(', ');
}

function grouped(count: number): string {
  return count.toLocaleString('en');
}

/** An estimate from the pace since the first look and the planned attempts; without a pace, the next attempt. */
function timeLeft(first: Look, last: Look): string[] {
  const { open } = totalOf(last.outcomes ?? []);
  const planned = (last.outcomes ?? []).flatMap(({ nextAttemptAt }) =>
    nextAttemptAt === undefined ? [] : [Math.max(0, nextAttemptAt - last.at)],
  );
  const ended = endedBy(last) - endedBy(first);
  if (ended > 0) {
    const atThisPace = (open / ended) * (last.at - first.at);
    return [`about ${roughly(Math.max(atThisPace, ...planned))} left`];
  }
  const next = Math.min(...planned);
  return next > 0 && next < Infinity ? [`next attempt in ${roughly(next)}`] : [];
}

function endedBy({ outcomes = [] }: Look): number {
  const { delivered, failed } = totalOf(outcomes);
  return delivered + failed;
}

/** The largest unit of a time in milliseconds, such as `3 min`. */
function roughly(milliseconds: number): string {
  const [largest = '1 s'] = inUnits(milliseconds / 1000);
  return largest;
}
