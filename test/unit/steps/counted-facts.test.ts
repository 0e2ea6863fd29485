import { describe, expect, it } from 'vitest';
import { noCounters, percentilesOf } from '../../../shared/domain/delivery/statistics.ts';
import { PHASES } from '../../../shared/domain/retry/vocabulary.ts';
import { TERMINAL_STATUSES } from '../../../shared/domain/delivery/vocabulary.ts';
import type { Fact } from '../../../shared/ports/journal.ts';
import { countFact } from '../../../shared/steps/counting-journal.ts';
import { anAttempt, SOME_TIME } from '../../support/delivery-builders.ts';
import { aFact, everyFact } from '../../support/every-fact.ts';

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

  it('leave a duplicate message out', () => {
    expect(counted(aFact('message_accepted', { duplicate: true })).counts).toEqual(counts({}));
  });

  it('count attempts by outcome, also those that a retry follows, and how long each took', () => {
    const attempts = (['delivered', 'failed', 'failed', 'rejected'] as const).map((outcome) =>
      aFact('attempt_made', { attempt: anAttempt({ outcome, durationMs: 120 }), status: 'retrying' }),
    );
    const found = counted(...attempts);
    expect(found.counts).toEqual(counts({ attempts: 4, attemptsFailed: 2, attemptsRejected: 1 }));
    expect(percentilesOf(found.response)?.count).toBe(4);
    expect(Math.abs((percentilesOf(found.response)?.p50 ?? 0) - 120)).toBeLessThan(15);
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
    expect(Math.abs((percentilesOf(timeToDelivery)?.p99 ?? 0) - 10_000)).toBeLessThan(1200);
  });

  it('count a late success as a delivery only if it decided the delivery', () => {
    const attempt = anAttempt({ outcome: 'delivered' });
    const late = (decisive: boolean) => counted(aFact('late_result', { attempt, decisive }));
    expect(late(true).counts).toEqual(counts({ attempts: 1, delivered: 1 }));
    expect(late(true).timeToDelivery.size).toBe(1);
    expect(late(false).counts).toEqual(counts({ attempts: 1 }));
    expect(late(false).timeToDelivery.size).toBe(0);
  });

  it('count a cancelled delivery without an attempt', () => {
    expect(counted(aFact('delivery_cancelled')).counts).toEqual(counts({ cancelled: 1 }));
  });

  it('are none for other facts', () => {
    const kinds = ['message_accepted', 'page_sent', 'attempt_made', 'late_result', 'delivery_cancelled'];
    const others = everyFact.filter(({ fact }) => !kinds.includes(fact));
    expect(others.length).toBeGreaterThan(PHASES.length);
    expect(counted(...others).queues).toEqual([]);
  });
});
