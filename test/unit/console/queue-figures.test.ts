import { describe, expect, it } from 'vitest';
import {
  byUrgency,
  figuresOf,
  totalOf,
  waitingIn,
  warningsOf,
  type QueueReading,
} from '../../../console/src/pages/overview/queue-figures.ts';
import { subscriptionView } from '../../../shared/wire/views/subscription.ts';
import { statisticsOf } from './statistics-of.ts';
import { aSubscription } from '../../support/builders.ts';

const NOW = Date.UTC(2026, 10, 21, 12);

const reading = (more: Partial<QueueReading> = {}): QueueReading => ({
  since: NOW - 3_600_000,
  at: NOW,
  subscriptions: { items: [], more: false },
  statistics: statisticsOf(),
  retrying: { items: [], more: false },
  undelivered: { items: [], more: false },
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

const undelivered = (
  acceptedAt: number,
  attemptedAt?: number,
): QueueReading['undelivered']['items'][number] => ({
  ...retrying(acceptedAt),
  status: 'exhausted',
  ...(attemptedAt !== undefined && {
    lastAttempt: { number: 3, startedAt: new Date(attemptedAt).toISOString(), outcome: 'failed' },
  }),
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
  it('warn of deliveries that ended without success in the window and are still undelivered', () => {
    const before = NOW - 3_600_001;
    const items = [undelivered(before, NOW - 60_000), undelivered(NOW), undelivered(before)];
    const warnings = (more: boolean) => warningsOf(figuresOf(reading({ undelivered: { items, more } })));
    expect(warnings(false)).toEqual([{ weight: 1, text: '2 deliveries rejected or exhausted' }]);
    expect(warnings(true)).toEqual([{ weight: 1, text: '2+ deliveries rejected or exhausted' }]);
  });

  it('warn of nothing once a recovery delivered what was rejected or exhausted', () => {
    const statistics = statisticsOf({ rejected: 3, exhausted: 2 });
    expect(warningsOf(figuresOf(reading({ statistics })))).toEqual([]);
  });

  it('have no counts where the deployment keeps no statistics', () => {
    const figures = figuresOf(reading({ statistics: null }));
    expect(figures.statistics).toBeUndefined();
    expect(totalOf([figures]).summary).toBeUndefined();
    expect(warningsOf(figures)).toEqual([]);
  });

  it('take the lateness of the most overdue retry', () => {
    const items = [
      retrying(NOW, NOW + 5000),
      retrying(NOW, NOW - 30_000),
      retrying(NOW),
      retrying(NOW, NOW - 9000),
      { ...retrying(NOW, NOW - 99_000), waiting: 'pull' as const },
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
    const one = figuresOf(reading({ statistics: statisticsOf({ messages: 5 }) }));
    const late = figuresOf(
      reading({
        statistics: statisticsOf({ messages: 7 }),
        retrying: { items: [retrying(NOW, NOW - 7000)], more: true },
      }),
    );
    expect(totalOf([one, late])).toMatchObject({
      summary: { total: { messages: 12 } },
      retrying: { count: 1, more: true },
      latenessMs: 7000,
    });
  });
});
