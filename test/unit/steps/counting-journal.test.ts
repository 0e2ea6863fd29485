import { beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import type { OperatorEvent } from '../../../shared/domain/delivery/operator-event.ts';
import { computePercentiles, noCounters } from '../../../shared/domain/delivery/statistics.ts';
import { TERMINAL_STATUSES } from '../../../shared/domain/delivery/vocabulary.ts';
import { PHASES } from '../../../shared/domain/retry/vocabulary.ts';
import type { Fact } from '../../../shared/ports/journal.ts';
import { attemptEventsJournal } from '../../../shared/steps/attempt-events.ts';
import { countFact, countingJournal } from '../../../shared/steps/counting-journal.ts';
import { anAttempt, answered, SOME_TIME } from '../../support/delivery-builders.ts';
import { aFact, everyFact } from '../../support/every-fact.ts';
import { inMemoryQueueStatistics } from '../../support/in-memory/in-memory-queue-statistics.ts';

/** 12:00:30 of some day. */
const START = Date.UTC(2026, 10, 21, 12, 0, 30);
const MINUTE = 60_000;

const throttled = new TypeError('throttled');

let noted: Fact[];
let flush: ReturnType<typeof vi.fn<() => void>>;

beforeEach(() => {
  noted = [];
  flush = vi.fn<() => void>();
});

/** The journal that the ones under test pass everything on to. */
const inner = () => ({ note: (fact: Fact) => void noted.push(fact), flush });

describe('a counting journal', () => {
  type Statistics = ReturnType<typeof inMemoryQueueStatistics>;
  let now: number;
  let patience: Promise<void>;
  let statistics: Statistics;
  let add: MockInstance<Statistics['add']>;
  /** The real write. */
  let write: Statistics['add'];

  beforeEach(() => {
    now = START;
    patience = new Promise(() => undefined);
    statistics = inMemoryQueueStatistics();
    const original = statistics.add.bind(statistics);
    write = (minute) => original(structuredClone(minute));
    add = vi.spyOn(statistics, 'add').mockImplementation(write);
  });

  const refuse = () => add.mockResolvedValue({ kind: 'refused', error: throttled });

  const aJournal = (queueStatistics = true) =>
    countingJournal(inner(), {
      clock: { now: () => now, sleep: () => patience },
      settings: { queueStatistics, retentionMs: 1 },
      statistics,
    });

  /** Invocations of a hundred milliseconds, each with one message. */
  const invoke = async (
    journal: ReturnType<typeof aJournal>,
    times: number,
    everyMs = 100,
  ): Promise<void> => {
    for (let invocation = 0; invocation < times; invocation += 1) {
      journal.note(aFact('message_accepted'));
      await journal.flush();
      now += everyMs;
    }
  };

  const messagesByMinute = async (queue = 'orders') => {
    const found: number[] = [];
    const window = { queue, since: START - 30_000, until: START + 60 * MINUTE };
    for await (const { counters } of statistics.minutes(window)) found.push(counters.counts.messages);
    return found;
  };

  const unwritten = () => noted.filter(({ fact }) => fact === 'statistics_not_written');

  it('passes every fact and flush on, and writes nothing where nothing is counted', async () => {
    const journal = aJournal();
    for (const fact of [aFact('reconcile_ran'), aFact('lease_lost')]) journal.note(fact);
    await journal.flush();
    expect(noted).toHaveLength(2);
    expect(flush).toHaveBeenCalledOnce();
    expect(add).not.toHaveBeenCalled();
  });

  it('writes once for each queue at the end of an invocation', async () => {
    const journal = aJournal();
    for (let count = 0; count < 3; count += 1) journal.note(aFact('message_accepted'));
    journal.note(aFact('message_accepted', { message: { queue: 'other', messageId: 'm' } }));
    expect(add).not.toHaveBeenCalled();
    await journal.flush();
    expect(add).toHaveBeenCalledTimes(2);
    expect([await messagesByMinute(), await messagesByMinute('other')]).toEqual([[3], [1]]);
  });

  it('counts in the minute of the fact, although it writes later', async () => {
    const journal = aJournal();
    now = START + MINUTE - 1;
    journal.note(aFact('message_accepted'));
    now += 30_002;
    journal.note(aFact('message_accepted'));
    await journal.flush();
    expect(await messagesByMinute()).toEqual([1, 1]);
  });

  it('writes after every invocation at a trickle', async () => {
    await invoke(aJournal(), 20, 1_001);
    expect(add).toHaveBeenCalledTimes(20);
  });

  it('writes about once a second while busy', async () => {
    const journal = aJournal();
    // The time until a tenth of it is a second.
    await invoke(journal, 100);
    add.mockClear();
    await invoke(journal, 100);
    expect(add).toHaveBeenCalledTimes(10);
  });

  it.each([1, 5, 17, 50, 99, 300])(
    'holds at most a tenth of the counts of a burst of %i invocations, and a few',
    async (invocations) => {
      await invoke(aJournal(), invocations);
      const [written = 0] = await messagesByMinute();
      expect(written).toBeGreaterThanOrEqual(Math.floor(invocations * 0.9));
    },
  );

  it('writes what it held at the end of the next invocation', async () => {
    const journal = aJournal();
    await invoke(journal, 95);
    now += 5 * MINUTE;
    await invoke(journal, 1);
    expect(await messagesByMinute()).toEqual([95, 1]);
  });

  it('keeps the counters of a refused write for the next one, notes it, and does not fail', async () => {
    const journal = aJournal();
    refuse();
    await invoke(journal, 1, MINUTE);
    expect(unwritten()).toEqual([{ fact: 'statistics_not_written', minutes: 1, error: throttled }]);
    add.mockImplementation(write);
    await invoke(journal, 1);
    expect(await messagesByMinute()).toEqual([1, 1]);
    expect(flush).toHaveBeenCalledTimes(2);
  });

  it('does not write for a minute after a write that failed, and loses no counts of that minute', async () => {
    const journal = aJournal();
    refuse();
    await invoke(journal, 1, 1_000);
    add.mockImplementation(write);
    await invoke(journal, 59, 1_000);
    expect(add).toHaveBeenCalledOnce();
    expect(flush).toHaveBeenCalledTimes(60);
    await invoke(journal, 1);
    expect(await messagesByMinute()).toEqual([30, 31]);
  });

  it('counts nothing twice where the answer of a write is lost, notes it, and does not fail', async () => {
    const journal = aJournal();
    const error = new DOMException('aborted', 'TimeoutError');
    add.mockImplementation(async (minute) => {
      await write(minute);
      throw error;
    });
    journal.note(aFact('message_accepted'));
    for (let count = 0; count < 10; count += 1) {
      await journal.flush();
      now += MINUTE;
    }
    expect(await messagesByMinute()).toEqual([1]);
    expect(unwritten()).toEqual([{ fact: 'statistics_not_written', minutes: 1, error }]);
  });

  it('does not wait for a slow write, and writes what it counts meanwhile after its answer', async () => {
    const journal = aJournal();
    const slow = Promise.withResolvers<undefined>();
    patience = Promise.resolve();
    add.mockImplementation(async (minute) => {
      const added = await write(minute);
      await slow.promise;
      return added;
    });
    await invoke(journal, 5, 2_000);
    expect(add).toHaveBeenCalledOnce();
    expect(flush).toHaveBeenCalledTimes(5);
    slow.resolve(undefined);
    await new Promise(setImmediate);
    await invoke(journal, 1, 2_000);
    expect(add).toHaveBeenCalledTimes(2);
    expect(await messagesByMinute()).toEqual([6]);
    expect(unwritten()).toEqual([]);
  });

  it('holds a limited number of counters while all writes fail, the newest', async () => {
    const journal = aJournal();
    refuse();
    for (let queue = 0; queue < 1_500; queue += 1)
      journal.note(aFact('message_accepted', { message: { queue: `queue-${queue}`, messageId: 'm' } }));
    await journal.flush();
    add.mockClear().mockImplementation(write);
    now += MINUTE;
    await journal.flush();
    expect(add).toHaveBeenCalledTimes(1_000);
    expect([await messagesByMinute('queue-0'), await messagesByMinute('queue-1499')]).toEqual([[], [1]]);
  });

  it('counts and writes nothing where the setting is off', async () => {
    await invoke(aJournal(false), 3);
    expect(add).not.toHaveBeenCalled();
    expect(noted).toHaveLength(3);
    expect(flush).toHaveBeenCalledTimes(3);
  });
});

const counted = (...facts: readonly Fact[]) => {
  const counters = noCounters();
  const queues = new Set<string>();
  for (const fact of facts)
    countFact(fact, (queue) => {
      queues.add(queue);
      return counters;
    });
  return { ...counters, queues: [...queues] };
};

const counts = (some: Partial<ReturnType<typeof noCounters>['counts']>) => ({
  ...noCounters().counts,
  ...some,
});

describe('the counters of a fact', () => {
  it('are those of its queue', () => {
    const key = { queue: 'other', messageId: 'm', subscriptionId: 's', bucket: 0 };
    expect(counted(aFact('attempt_made', { key })).queues).toEqual(['other']);
    expect(counted(aFact('message_accepted')).queues).toEqual(['orders']);
  });

  it('count a message once, with the subscriptions of all its pages', () => {
    const pages = [
      aFact('page_sent', { matched: 5, filtered: 1 }),
      aFact('page_sent', { matched: 1, filtered: 0 }),
    ];
    const { counts: found } = counted(aFact('message_accepted', { matched: 2, filtered: 3 }), ...pages);
    expect(found).toEqual(counts({ messages: 1, matched: 8, filtered: 4 }));
  });

  it.each([
    ['leave a duplicate message out', aFact('message_accepted', { duplicate: true }), {}],
    ['count a cancelled delivery without an attempt', aFact('delivery_cancelled'), { cancelled: 1 }],
  ])('%s', (_, fact, expected) => {
    expect(counted(fact).counts).toEqual(counts(expected));
  });

  it('count attempts by outcome, also those that a retry follows, and how long each took', () => {
    const attempts = (['delivered', 'failed', 'failed', 'rejected'] as const).map((outcome) =>
      aFact('attempt_made', { attempt: anAttempt({ outcome, durationMs: 120 }), status: 'retrying' }),
    );
    const found = counted(...attempts);
    expect(found.counts).toEqual(counts({ attempts: 4, attemptsFailed: 2, attemptsRejected: 1 }));
    expect(computePercentiles(found.response)?.count).toBe(4);
    expect(Math.abs((computePercentiles(found.response)?.p50 ?? 0) - 120)).toBeLessThan(15);
    expect(found.timeToDelivery.size).toBe(0);
  });

  it.each(TERMINAL_STATUSES)('count the end of a delivery: %s', (status) => {
    const { counts: found } = counted(aFact('attempt_made', { attempt: anAttempt(), status }));
    expect(found).toMatchObject({ attempts: 1, [status]: 1 });
  });

  it('time a delivery from the acceptance to the end of its successful attempt', () => {
    const attempt = anAttempt({ outcome: 'delivered', startedAt: SOME_TIME, durationMs: 500 });
    const { timeToDelivery } = counted(
      aFact('attempt_made', { attempt, status: 'delivered', acceptedAt: SOME_TIME - 9_500 }),
    );
    expect(Math.abs((computePercentiles(timeToDelivery)?.p99 ?? 0) - 10_000)).toBeLessThan(1200);
  });

  it.each([
    [true, { attempts: 1, delivered: 1 }],
    [false, { attempts: 1 }],
  ])('count a late success as a delivery only if it decided the delivery: %s', (decisive, expected) => {
    const late = counted(aFact('late_result', { attempt: anAttempt({ outcome: 'delivered' }), decisive }));
    expect(late.counts).toEqual(counts(expected));
    expect(late.timeToDelivery.size).toBe(decisive ? 1 : 0);
  });

  it('are none for other facts', () => {
    const kinds = ['message_accepted', 'page_sent', 'attempt_made', 'late_result', 'delivery_cancelled'];
    const others = everyFact.filter(({ fact }) => !kinds.includes(fact));
    expect(others.length).toBeGreaterThan(PHASES.length);
    expect(counted(...others).queues).toEqual([]);
  });
});

describe('operator events of failed attempts', () => {
  const publish = vi.fn<(event: OperatorEvent) => Promise<void>>();

  beforeEach(() => {
    publish.mockReset().mockResolvedValue();
  });

  const sent = () => publish.mock.calls.map(([event]) => event);

  const aJournal = (enabled = true) =>
    attemptEventsJournal(inner(), { enabled, operatorEvents: { publish } });

  const failed = (outcome: 'failed' | 'rejected' = 'failed') =>
    aFact('attempt_made', {
      attempt: anAttempt({ number: 2, outcome, result: answered(503), startedAt: SOME_TIME, durationMs: 40 }),
      nextAt: SOME_TIME + 5_000,
    });

  it('contain the result and the time of the retry, and are sent once, at the end of the invocation', async () => {
    const journal = aJournal();
    const fact = failed();
    journal.note(fact);
    expect(sent()).toEqual([]);
    await journal.flush();
    await journal.flush();
    expect(sent()).toEqual([
      {
        type: 'attempt.failed',
        key: fact.key,
        attempt: 2,
        outcome: 'failed',
        statusCode: 503,
        at: SOME_TIME + 40,
        nextAt: SOME_TIME + 5_000,
      },
    ]);
    expect(noted).toEqual([fact]);
    expect(flush).toHaveBeenCalledTimes(2);
  });

  it('are sent for rejected attempts too, and for nothing else', async () => {
    const journal = aJournal();
    for (const fact of everyFact) if (fact.fact !== 'attempt_made') journal.note(fact);
    journal.note(aFact('attempt_made', { attempt: anAttempt({ outcome: 'delivered' }) }));
    journal.note(failed('rejected'));
    await journal.flush();
    expect(sent()).toMatchObject([{ type: 'attempt.failed', outcome: 'rejected' }]);
  });

  it('are not sent without the setting', async () => {
    const journal = aJournal(false);
    journal.note(failed());
    await journal.flush();
    expect(sent()).toEqual([]);
    expect(flush).toHaveBeenCalledOnce();
  });

  it.each([
    ['are dropped if the bus refuses them, which fails no invocation', throttled, 1_000, 1_002],
    ['are noted if there are too many to send', undefined, 1_000, 2],
  ])('%s', async (_, refusal, tries, lost) => {
    const journal = aJournal();
    if (refusal !== undefined) publish.mockRejectedValue(refusal);
    for (let attempt = 0; attempt < 1_002; attempt += 1) journal.note(failed());
    await journal.flush();
    expect(publish).toHaveBeenCalledTimes(tries);
    expect(noted.at(-1)).toMatchObject({
      fact: 'attempt_events_lost',
      events: lost,
      ...(refusal && { error: refusal }),
    });
    await journal.flush();
    expect(publish).toHaveBeenCalledTimes(tries);
    expect(flush).toHaveBeenCalledTimes(2);
  });
});
