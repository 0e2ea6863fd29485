import { describe, expect, it } from 'vitest';
import { booksOf, type Pair } from '../../chaos/books.ts';
import { faultLog } from '../../chaos/fault-proxy.ts';
import type { Reply } from '../../chaos/subscribers.ts';
import { aDelivery, anAttempt, SOME_TIME, answered } from '../../support/delivery-builders.ts';

/** A request that arrives `afterMs` after the start of the first attempt. */
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
      attempts: [anAttemptAt(0, { outcome: 'delivered', result: answered(200) })],
      ...overrides,
    }),
    replies,
  );

/** Faults at these times, in milliseconds after the start of the first attempt. */
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

describe('the books of the chaos run', () => {
  it('balance when every record agrees with the log of the subscriber', () => {
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
    ['is recorded as delivered without a request', delivered({}, [])],
    ['is recorded as delivered, but got only failures', delivered({}, [failure])],
    [
      'is recorded as delivered before the subscriber responded',
      delivered({}, [{ ...success, delayMs: 1_000 }]),
    ],
  ])('count a delivery as lost that %s', (_what, pair: Pair) => {
    expect(booksOf([pair], none).lost).toBe(1);
  });

  it('count a request without a recorded attempt as an unexplained duplicate', () => {
    expect(booksOf([delivered({}, [success, reply(5_000)])], none)).toMatchObject({
      lost: 0,
      duplicates: 1,
      unexplainedDuplicates: 1,
    });
  });

  it.each([
    ['an attempt with an expired lease', { attempts: [anAttemptAt(0, { lost: 1, outcome: 'delivered' })] }],
    ['an expired lease on the delivery', { lost: 1 }],
    ['a late result', { lateResults: [anAttempt({ outcome: 'delivered' })] }],
  ])('do not accept a record as an explanation of a duplicate: %s', (_what, overrides) => {
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
      'the sending process was killed before it recorded the attempt',
      unrecorded(closedAt(900)),
      { kill: 700 },
    ],
    ['a call about its message failed after the request', unrecorded(), { failed: 600 }],
  ])('explain a duplicate where %s', (_what, pair, faults) => {
    expect(booksOf([pair], faultsAt(faults))).toMatchObject({ duplicates: 1, unexplainedDuplicates: 0 });
  });

  it.each([
    ['another process was killed, and the sender runs on', unrecorded(), faultsAt({ kill: 700 })],
    [
      'the sending process was killed long after the request',
      unrecorded(closedAt(12_000)),
      faultsAt({ kill: 11_500 }),
    ],
    ['its connection closed without a kill', unrecorded(closedAt(900)), none],
    ['a call about its message failed before the request', unrecorded(), faultsAt({ failed: -10 })],
    ['a call about its message failed long after the request', unrecorded(), faultsAt({ failed: 15_000 })],
    ['a call about another message failed', unrecorded(), faultsAt({ failed: 600 }, 'm2')],
  ])('do not explain a duplicate where %s', (_what, pair, faults) => {
    expect(booksOf([pair], faults).unexplainedDuplicates).toBe(1);
  });

  it('do not explain the duplicate of one delivery by leases or faults of another', () => {
    const pair = delivered({}, [success, reply(5_000)]);
    const books = booksOf(
      [delivered({ lost: 5 }), { ...pair, messageId: 'm2' }],
      faultsAt({ failed: 5_001 }),
    );
    expect(books.unexplainedDuplicates).toBe(1);
  });
});
