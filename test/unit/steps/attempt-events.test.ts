import { beforeEach, describe, expect, it } from 'vitest';
import type { OperatorEvent } from '../../../shared/domain/delivery/operator-event.ts';
import type { Fact } from '../../../shared/ports/journal.ts';
import { attemptEventsJournal } from '../../../shared/steps/attempt-events.ts';
import { anAttempt, SOME_TIME, answered } from '../../support/delivery-builders.ts';
import { aFact, everyFact } from '../../support/every-fact.ts';

const refusal = new Error('throttled');

describe('operator events of failed attempts', () => {
  let noted: Fact[];
  let flushed: number;
  let sent: OperatorEvent[];
  let isRefused: boolean;

  beforeEach(() => {
    [noted, flushed, sent, isRefused] = [[], 0, [], false];
  });

  const aJournal = (enabled = true) =>
    attemptEventsJournal(
      {
        note: (fact: Fact) => {
          noted.push(fact);
        },
        flush: () => {
          flushed += 1;
        },
      },
      {
        enabled,
        operatorEvents: {
          publish: (event) => {
            if (isRefused) return Promise.reject(refusal);
            sent.push(event);
            return Promise.resolve();
          },
        },
      },
    );

  const failed = (outcome: 'failed' | 'rejected' = 'failed') =>
    aFact('attempt_made', {
      attempt: anAttempt({ number: 2, outcome, result: answered(503), startedAt: SOME_TIME, durationMs: 40 }),
      nextAt: SOME_TIME + 5_000,
    });

  it('contain the result and the time of the retry, and are sent once, at the end of the invocation', async () => {
    const journal = aJournal();
    const fact = failed();
    journal.note(fact);
    expect(sent).toEqual([]);
    await journal.flush();
    await journal.flush();
    expect(sent).toEqual([
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
    expect(flushed).toBe(2);
  });

  it('are sent for rejected attempts too, and for nothing else', async () => {
    const journal = aJournal();
    for (const fact of everyFact) if (fact.fact !== 'attempt_made') journal.note(fact);
    journal.note(aFact('attempt_made', { attempt: anAttempt({ outcome: 'delivered' }) }));
    journal.note(failed('rejected'));
    await journal.flush();
    expect(sent).toMatchObject([{ type: 'attempt.failed', outcome: 'rejected' }]);
  });

  it('are not sent without the setting', async () => {
    const journal = aJournal(false);
    journal.note(failed());
    await journal.flush();
    expect(sent).toEqual([]);
    expect(flushed).toBe(1);
  });

  it('are dropped with a note if the bus refuses them, and do not fail the invocation', async () => {
    const journal = aJournal();
    isRefused = true;
    for (let attempt = 0; attempt < 1_002; attempt += 1) journal.note(failed());
    await journal.flush();
    expect(noted.at(-1)).toEqual({ fact: 'attempt_events_lost', events: 1_002, error: refusal });
    isRefused = false;
    await journal.flush();
    expect(sent).toEqual([]);
    expect(flushed).toBe(2);
  });

  it('are noted if there are too many to send', async () => {
    const journal = aJournal();
    for (let attempt = 0; attempt < 1_002; attempt += 1) journal.note(failed());
    await journal.flush();
    expect(sent).toHaveLength(1_000);
    expect(noted.at(-1)).toMatchObject({ fact: 'attempt_events_lost', events: 2 });
  });
});
