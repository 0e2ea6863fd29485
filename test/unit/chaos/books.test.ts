import { describe, expect, it } from 'vitest';
import { booksOf } from '../../chaos/books.ts';
import type { Pair } from '../../chaos/duplicates.ts';
import { faultLog } from '../../chaos/fault-log.ts';
import type { Reply } from '../../chaos/subscribers.ts';
import { aDelivery, anAttempt, SOME_TIME } from '../../support/delivery-builders.ts';

/** Asked so many milliseconds after the first attempt began. */
const reply = (afterMs: number, more: Partial<Reply> = {}): Reply => ({
  at: SOME_TIME + afterMs,
  status: 200,
  delayMs: 0,
  connection: {},
  ...more,
});

const success = reply(0);
const failure = reply(0, { status: 503 });

const anAttemptAt = (afterMs: number, more: Parameters<typeof anAttempt>[0] = {}) =>
  anAttempt({ startedAt: SOME_TIME + afterMs, durationMs: 10, ...more });

const pairOf = (record: Pair['record'], replies: readonly Reply[]): Pair => ({
  messageId: 'm1',
  record,
  replies,
});

const delivered = (overrides: Parameters<typeof aDelivery>[0] = {}, replies = [success]): Pair =>
  pairOf(
    aDelivery({
      status: 'delivered',
      attempts: [anAttemptAt(0, { outcome: 'delivered', statusCode: 200 })],
      ...overrides,
    }),
    replies,
  );

/** Faults at these times, in milliseconds after the first attempt began. */
const faultsAt = ({ kill, failed }: { kill?: number; failed?: number } = {}, about = 'm1') => {
  let now = 0;
  const faults = faultLog(() => SOME_TIME + now);
  if (kill !== undefined) {
    now = kill;
    faults.killed();
  }
  if (failed !== undefined) {
    now = failed;
    faults.failed([about]);
  }
  return faults;
};

const none = faultsAt();

describe('the books of the crash test', () => {
  it('balance when every delivery ended as its subscriber saw it', () => {
    const exhausted = pairOf(aDelivery({ status: 'exhausted', attempts: [anAttemptAt(0)] }), [failure]);
    expect(booksOf([delivered(), exhausted], none)).toEqual({
      deliveries: 2,
      delivered: 1,
      rejected: 0,
      exhausted: 1,
      cancelled: 0,
      lost: 0,
      duplicates: 0,
      unexplainedDuplicates: 0,
    });
  });

  it.each([
    ['has no record', pairOf(undefined, [])],
    ['is still pending', pairOf(aDelivery({ status: 'pending' }), [])],
    ['is still retrying', pairOf(aDelivery({ status: 'retrying' }), [])],
    ['is recorded as delivered, but was never asked', delivered({}, [])],
    ['is recorded as delivered, but was answered with failures only', delivered({}, [failure])],
    [
      'is recorded as delivered before its success was given',
      delivered({}, [{ ...success, delayMs: 1_000 }]),
    ],
  ])('count a delivery as lost that %s', (_what, pair: Pair) => {
    expect(booksOf([pair], none).lost).toBe(1);
  });

  it('count a request beyond the attempts on record as a duplicate without cause', () => {
    expect(booksOf([delivered({}, [success, reply(5_000)])], none)).toMatchObject({
      lost: 0,
      duplicates: 1,
      unexplainedDuplicates: 1,
    });
  });

  it.each([
    [
      'an attempt says that its lease ran out',
      { attempts: [anAttemptAt(0, { lost: 1, outcome: 'delivered' })] },
    ],
    ['the record says that a lease ran out', { lost: 1 }],
    ['a result came late', { lateResults: [anAttempt({ outcome: 'delivered' })] }],
  ])('do not explain a duplicate by what the records say of it: %s', (_what, overrides) => {
    const pair = delivered(overrides, [success, reply(5_000)]);
    expect(booksOf([pair], none)).toMatchObject({ duplicates: 1, unexplainedDuplicates: 1 });
  });

  const unrecorded = (more: Partial<Reply> = {}): Pair =>
    delivered({ attempts: [anAttemptAt(20_000, { outcome: 'delivered' })] }, [
      reply(0, { delayMs: 500, ...more }),
      reply(20_000),
    ]);
  const closedAt = (afterMs: number) => ({ connection: { closedAt: SOME_TIME + afterMs } });

  it.each([
    [
      'the process that had made it was killed before it recorded it',
      unrecorded(closedAt(900)),
      { kill: 700 },
    ],
    ['a call about its message failed after it', unrecorded(), { failed: 600 }],
  ])('explain a duplicate where %s', (_what, pair, faults) => {
    expect(booksOf([pair], faultsAt(faults))).toMatchObject({ duplicates: 1, unexplainedDuplicates: 0 });
  });

  it.each([
    ['another process was killed, and its own lives on', unrecorded(), faultsAt({ kill: 700 })],
    ['its process was killed long after it', unrecorded(closedAt(12_000)), faultsAt({ kill: 11_500 })],
    ['its connection was closed, and nothing was killed', unrecorded(closedAt(900)), none],
    ['a call about its message failed before it', unrecorded(), faultsAt({ failed: -10 })],
    ['a call about its message failed long after it', unrecorded(), faultsAt({ failed: 15_000 })],
    ['a call about another message failed', unrecorded(), faultsAt({ failed: 600 }, 'm2')],
  ])('do not explain a duplicate where %s', (_what, pair, faults) => {
    expect(booksOf([pair], faults).unexplainedDuplicates).toBe(1);
  });

  it('are not balanced by one delivery for another', () => {
    const pair = delivered({}, [success, reply(5_000)]);
    const books = booksOf(
      [delivered({ lost: 5 }), { ...pair, messageId: 'm2' }],
      faultsAt({ failed: 5_001 }),
    );
    expect(books.unexplainedDuplicates).toBe(1);
  });
});
