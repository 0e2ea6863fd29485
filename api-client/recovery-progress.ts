import { toRecord } from '../shared/domain/delivery/vocabulary.ts';
import { inUnits } from '../shared/domain/duration.ts';
import { sumOfOutcomes, type RecoveryOutcomes } from '../shared/domain/recovery/outcomes.ts';
import type { RecoveryView } from '../shared/wire/views/recovery.ts';
import type { ApiClient } from './api-client.ts';
import { readRecoveryOutcomes } from './operations.ts';

/** What became of the deliveries that a recovery reopened. Undefined: an earlier version did not record them. */
export async function readOutcomes(
  api: ApiClient,
  { queue, id }: Pick<RecoveryView, 'queue' | 'id'>,
  signal?: AbortSignal,
): Promise<RecoveryOutcomes[] | undefined> {
  const outcomes: RecoveryOutcomes[] = [];
  const path = { queue, recovery: id };
  for await (const { known, subscriptions } of api.pages(readRecoveryOutcomes, { path, signal })) {
    if (!known) return undefined;
    outcomes.push(...subscriptions);
  }
  return sumOfOutcomes(outcomes);
}

/** What became of the deliveries of a recovery. `at`: milliseconds since the epoch. */
export type Look = { at: number; outcomes: readonly RecoveryOutcomes[] };

/** Counts over all subscriptions. */
export function sumOutcomes(
  outcomes: readonly RecoveryOutcomes[],
): Pick<RecoveryOutcomes, (typeof COUNTS)[number]> {
  return toRecord(COUNTS, (count) => outcomes.reduce((sum, one) => sum + one[count], 0));
}

const COUNTS = ['total', 'delivered', 'failed', 'open'] as const;

export const OUTCOMES_UNKNOWN =
  'What became of its deliveries is not known: an earlier version of Posthaste ran it.';

/** Says how many reopened deliveries the outcomes lack. Undefined: none, or the recovery still counts. */
export function lostText(
  { state, reopened }: Pick<RecoveryView, 'state' | 'reopened'>,
  outcomes: readonly RecoveryOutcomes[],
): string | undefined {
  const lost = state === 'running' ? 0 : reopened - sumOutcomes(outcomes).total;
  if (lost <= 0) return undefined;
  return `${lost.toLocaleString('en')} of the reopened deliveries ${lost === 1 ? 'is' : 'are'} no longer on record.`;
}

/**
 * An estimate from the pace since the first look and the planned attempts, such as `about 3 min left`; without a pace,
 * the next attempt; undefined without either.
 */
export function timeLeft(first: Look, last: Look): string | undefined {
  const { open } = sumOutcomes(last.outcomes);
  if (open === 0) return undefined;
  const planned = last.outcomes.flatMap(({ nextAttemptAt }) =>
    nextAttemptAt === undefined ? [] : [Math.max(0, nextAttemptAt - last.at)],
  );
  const ended = endedBy(last) - endedBy(first);
  if (ended > 0) {
    const atThisPace = (open / ended) * (last.at - first.at);
    return `about ${roughly(Math.max(atThisPace, ...planned))} left`;
  }
  const next = Math.min(...planned);
  return next > 0 && next < Infinity ? `next attempt in ${roughly(next)}` : undefined;
}

function endedBy({ outcomes }: Look): number {
  const { delivered, failed } = sumOutcomes(outcomes);
  return delivered + failed;
}

/** The largest unit of a time in milliseconds, such as `3 min`. */
function roughly(milliseconds: number): string {
  const [largest = '1 s'] = inUnits(milliseconds / 1000);
  return largest;
}
