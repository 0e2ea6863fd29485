import { describe, expect, it } from 'vitest';
import {
  byUrgency,
  rateText,
  figuresOf,
  totalOf,
  waitingIn,
  warningsOf,
  type QueueReading,
} from '../../../console/src/pages/overview/queue-figures.ts';
import { EMPTY_BOOKS } from '../../../shared/domain/message/books.ts';
import { subscriptionView } from '../../../shared/wire/views/subscription.ts';
import { aSubscription } from '../../support/builders.ts';

const NOW = Date.UTC(2026, 10, 21, 12);
const MINUTE = 60_000;

const reading = (more: Partial<QueueReading> = {}): QueueReading => ({
  at: NOW,
  windowMs: 5 * MINUTE,
  subscriptions: { items: [], more: false },
  books: EMPTY_BOOKS,
  retrying: { items: [], more: false },
  ...more,
});

const retrying = (acceptedAt: number, nextAttemptAt?: number): QueueReading['retrying']['items'][number] => ({
  queue: 'orders',
  messageId: 'm',
  subscriptionId: 's',
  status: 'retrying',
  acceptedAt: new Date(acceptedAt).toISOString(),
  attemptCount: 1,
  ...(nextAttemptAt !== undefined && { nextAttemptAt: new Date(nextAttemptAt).toISOString() }),
});

describe('waitingIn', () => {
  it('counts the ingress and delivery queues, but not retries, which are pending, nor dead letters', () => {
    expect(waitingIn({ queues: { ingress: 2, delivery: 40, retry: 9, ingressDeadLetters: 5 } })).toBe(42);
    expect(waitingIn({ queues: {} })).toBe(0);
  });

  it('is undefined where the queues could not be counted', () => {
    expect(waitingIn({})).toBeUndefined();
  });
});

describe('the figures of a queue', () => {
  it('are messages per minute, delivered, and failed as rejected plus exhausted', () => {
    const books = { ...EMPTY_BOOKS, accepted: 50, delivered: 40, rejected: 3, exhausted: 2 };
    expect(figuresOf(reading({ books }))).toMatchObject({ perMinute: 10, delivered: 40, failed: 5 });
  });

  it('count as pending the deliveries of the window and older ones that are being retried', () => {
    const items = [retrying(NOW - MINUTE), retrying(NOW - 6 * MINUTE), retrying(NOW - 60 * MINUTE)];
    const { pending } = figuresOf(
      reading({ books: { ...EMPTY_BOOKS, pending: 4 }, retrying: { items, more: true } }),
    );
    expect(pending).toEqual({ count: 6, more: true });
  });

  it('take the lateness of the most overdue retry', () => {
    const items = [
      retrying(NOW, NOW + 5000),
      retrying(NOW, NOW - 30_000),
      retrying(NOW),
      retrying(NOW, NOW - 9000),
    ];
    expect(figuresOf(reading({ retrying: { items, more: false } })).latenessMs).toBe(30_000);
    expect(figuresOf(reading({ retrying: { items: items.slice(0, 1), more: false } })).latenessMs).toBe(0);
  });

  it('report failing subscriptions, but not those that an operator disabled', () => {
    const views = [
      aSubscription(),
      aSubscription({ failing: { since: NOW, failures: 3 } }),
      aSubscription({ disabled: { reason: 'gone', at: NOW }, failing: { since: NOW, failures: 3 } }),
      aSubscription({ disabled: { reason: 'manual', at: NOW } }),
    ].map((subscription) => subscriptionView(subscription, NOW));
    const figures = figuresOf(reading({ subscriptions: { items: views, more: false } }));
    expect(figures.subscriptions).toEqual({ count: 4, more: false, failing: 1, off: 1 });
    expect(warningsOf(figures).map(({ text }) => text)).toEqual([
      '1 subscription disabled after failures',
      '1 subscription is failing',
    ]);
    expect(warningsOf(figuresOf(reading()))).toEqual([]);
  });

  it('sort queues by the worst problem, then by name', () => {
    const row = (name: string, weight?: number) => ({
      name,
      warnings: weight === undefined ? [] : [{ weight, text: '' }],
    });
    const rows = [row('b'), row('a'), row('z', 1), row('y', 4), row('x', 1)];
    expect(byUrgency(rows).map(({ name }) => name)).toEqual(['y', 'x', 'z', 'a', 'b']);
  });

  it('add up over queues', () => {
    const one = figuresOf(reading({ books: { ...EMPTY_BOOKS, accepted: 5, pending: 1 } }));
    const late = figuresOf(reading({ retrying: { items: [retrying(NOW, NOW - 7000)], more: false } }));
    expect(totalOf([one, late])).toMatchObject({
      perMinute: 1,
      pending: { count: 1, more: false },
      latenessMs: 7000,
    });
  });

  it.each([
    [0, '0'],
    [0.44, '0.4'],
    [12.3, '12'],
    [1250, '1,250'],
  ])('show %f messages per minute as %s', (rate, text) => {
    expect(rateText(rate)).toBe(text);
  });
});
