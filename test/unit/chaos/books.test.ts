import { describe, expect, it } from 'vitest';
import { booksOf, type Pair } from '../../chaos/books.ts';
import { aDelivery, anAttempt } from '../../support/delivery-builders.ts';

const success = { status: 200, delayMs: 0 };
const failure = { status: 503, delayMs: 0 };

const delivered = (overrides: Parameters<typeof aDelivery>[0] = {}, replies = [success]): Pair => ({
  record: aDelivery({
    status: 'delivered',
    attempts: [anAttempt({ outcome: 'delivered', statusCode: 200 })],
    ...overrides,
  }),
  replies,
});

describe('the books of the crash test', () => {
  it('balance when every delivery ended as its subscriber saw it', () => {
    const exhausted = {
      record: aDelivery({ status: 'exhausted', attempts: [anAttempt()] }),
      replies: [failure],
    };
    expect(booksOf([delivered(), exhausted])).toEqual({
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
    ['has no record', { record: undefined, replies: [] }],
    ['is still pending', { record: aDelivery({ status: 'pending' }), replies: [] }],
    ['is still retrying', { record: aDelivery({ status: 'retrying' }), replies: [] }],
    ['is recorded as delivered, but was never asked', delivered({}, [])],
    ['is recorded as delivered, but was answered with failures only', delivered({}, [failure])],
    [
      'is recorded as delivered before its success was given',
      delivered({}, [{ status: 200, delayMs: 1_000 }]),
    ],
  ])('count a delivery as lost that %s', (_what, pair: Pair) => {
    expect(booksOf([pair]).lost).toBe(1);
  });

  it('count a request beyond the attempts on record as a duplicate without cause', () => {
    expect(booksOf([delivered({}, [success, success])])).toMatchObject({
      lost: 0,
      duplicates: 1,
      unexplainedDuplicates: 1,
    });
  });

  it.each([
    ['an attempt says that its lease ran out', { attempts: [anAttempt({ lost: 1 })] }],
    ['the record says that a lease ran out', { lost: 1 }],
    ['its result came late', { lateResults: [anAttempt({ outcome: 'delivered' })] }],
  ])('explain a duplicate where %s', (_what, overrides) => {
    expect(booksOf([delivered(overrides, [success, success])])).toMatchObject({
      duplicates: 1,
      unexplainedDuplicates: 0,
    });
  });

  it('do not explain two duplicates by one request that both lost its lease and came late', () => {
    const overrides = { lost: 1, lateResults: [anAttempt()] };
    expect(booksOf([delivered(overrides, [success, success, success])])).toMatchObject({
      duplicates: 2,
      unexplainedDuplicates: 1,
    });
  });

  it('are not balanced by one delivery for another', () => {
    const generous = delivered({ lost: 5 });
    expect(booksOf([generous, delivered({}, [success, success])]).unexplainedDuplicates).toBe(1);
  });
});
