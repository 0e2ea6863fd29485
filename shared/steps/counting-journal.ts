import { MINUTE_MS } from '../domain/duration.ts';
import { endOfAttempt } from '../domain/delivery/attempt.ts';
import { toError } from '../domain/errors.ts';
import { addDuration, addTo, noCounters, type RunningCounters } from '../domain/delivery/statistics.ts';
import { type TerminalStatus, isOpenStatus } from '../domain/delivery/vocabulary.ts';
import type { Clock } from '../ports/clock.ts';
import type { Fact, Journal } from '../ports/journal.ts';
import type { QueueStatistics } from '../ports/statistics.ts';

type Counting = {
  statistics: Pick<QueueStatistics, 'add'>;
  clock: Pick<Clock, 'now' | 'sleep'>;
  settings: { queueStatistics: boolean; retentionMs: number };
};

/**
 * How long an instance holds counters before it writes them: up to a second, and up to a tenth of the time for which it
 * has been busy. So a busy instance writes once a second, and one that ends loses little of what it counted.
 */
const MAX_HELD_MS = 1_000;
const HELD_SHARE = 0.1;

/** Without a count for this long an instance is no longer busy. */
const PAUSE_MS = 1_000;

/** After a write that failed: a table that throttles has work to do for deliveries. */
const PAUSE_AFTER_FAILURE_MS = MINUTE_MS;

/** How long an invocation waits for a write, which then goes on beside the next ones: a chart must not delay deliveries. */
const MAX_WAITED_MS = 500;

/** The most counters of a queue and minute that are held while writes fail. */
const MAX_HELD = 1_000;

type AttemptFact = Extract<Fact, { fact: 'attempt_made' | 'late_result' }>;

type Held = { queue: string; at: number; counters: RunningCounters };

/**
 * A journal that also counts its facts per queue and minute, and writes the counters when it is flushed, at the end of an
 * invocation. Best effort: a write that fails is noted. Its counters are held for the next one if it was refused; if they
 * may have been written, they are dropped, so that nothing is counted twice. One write is under way at a time.
 */
export function countingJournal<Inner extends Journal & { flush: () => void }>(
  inner: Inner,
  { statistics, clock, settings }: Counting,
): Omit<Inner, 'flush'> & { flush: () => Promise<void> } {
  let held = new Map<string, Held>();
  let busySince = -Infinity;
  let countedAt = -Infinity;
  let writtenAt = -Infinity;
  let failedAt = -Infinity;
  let isWriting = false;

  const getCounters = (queue: string): RunningCounters => {
    const now = clock.now();
    if (now - countedAt > PAUSE_MS) busySince = now;
    countedAt = now;
    return heldIn(held, queue, Math.floor(now / MINUTE_MS) * MINUTE_MS);
  };

  const isPaused = (): boolean => clock.now() - failedAt < PAUSE_AFTER_FAILURE_MS;

  const write = async (): Promise<void> => {
    const startedAt = clock.now();
    if (startedAt - writtenAt < Math.min(MAX_HELD_MS, (startedAt - busySince) * HELD_SHARE)) return;
    writtenAt = startedAt;
    await Promise.race([addHeld(startedAt), clock.sleep(MAX_WAITED_MS)]);
  };

  const addHeld = async (startedAt: number): Promise<void> => {
    isWriting = true;
    const writing = [...held.values()];
    held = new Map();
    const faults = await Promise.all(
      writing.map(async (minute) => {
        try {
          const added = await statistics.add({ ...minute, expiresAt: minute.at + settings.retentionMs });
          if (added.kind === 'added') return [];
          addTo(heldIn(held, minute.queue, minute.at), minute.counters);
          return [added.error];
        } catch (fault) {
          return [toError(fault)];
        }
      }),
    );
    isWriting = false;
    const [error, ...others] = faults.flat();
    if (error === undefined) return;
    failedAt = startedAt;
    inner.note({ fact: 'statistics_not_written', minutes: 1 + others.length, error });
  };

  return {
    ...inner,
    note: (fact) => {
      inner.note(fact);
      if (settings.queueStatistics) countFact(fact, getCounters);
    },
    flush: async () => {
      if (held.size > 0 && !isWriting && !isPaused()) await write();
      for (const key of [...held.keys()].slice(0, -MAX_HELD)) held.delete(key);
      inner.flush();
    },
  };
}

function heldIn(held: Map<string, Held>, queue: string, at: number): RunningCounters {
  const key = `${queue}#${at}`;
  const { counters } = held.get(key) ?? { counters: noCounters() };
  held.set(key, { queue, at, counters });
  return counters;
}

/** Adds a fact to the counters of its queue. Facts without a counter are ignored. */
export function countFact(fact: Fact, countersOf: (queue: string) => RunningCounters): void {
  if (fact.fact === 'message_accepted' && !fact.duplicate) {
    const { counts } = countersOf(fact.message.queue);
    counts.messages += 1;
    countSubscriptions(counts, fact);
  } else if (fact.fact === 'page_sent') {
    countSubscriptions(countersOf(fact.message.queue).counts, fact);
  } else if (fact.fact === 'attempt_made' || fact.fact === 'late_result') {
    countAttempt(countersOf(fact.key.queue), fact);
  } else if (fact.fact === 'delivery_cancelled') {
    countersOf(fact.key.queue).counts.cancelled += 1;
  }
}

function countSubscriptions(
  counts: RunningCounters['counts'],
  { matched, filtered }: { matched: number; filtered: number },
): void {
  counts.matched += matched;
  counts.filtered += filtered;
}

function countAttempt({ counts, timeToDelivery, response }: RunningCounters, fact: AttemptFact): void {
  const { outcome, durationMs } = fact.attempt;
  const end = findEnd(fact);
  counts.attempts += 1;
  addDuration(response, durationMs);
  if (outcome === 'failed') counts.attemptsFailed += 1;
  if (outcome === 'rejected') counts.attemptsRejected += 1;
  if (end !== undefined) counts[end] += 1;
  if (end === 'delivered') addDuration(timeToDelivery, endOfAttempt(fact.attempt) - fact.acceptedAt);
}

/** Undefined: the attempt did not end the delivery. */
function findEnd(fact: AttemptFact): TerminalStatus | undefined {
  if (fact.fact === 'late_result') return fact.decisive ? 'delivered' : undefined;
  return isOpenStatus(fact.status) ? undefined : fact.status;
}
