import { once } from 'node:events';
import jsonPatch from 'fast-json-patch';
import type { Operation } from 'fast-json-patch';
import { describe, expect, it } from 'vitest';
import { firstWithin } from '../../../console/src/api/listed.ts';
import {
  byUrgency,
  computeFigures,
  listWarnings,
  type QueueReading,
  sumFigures,
  waitingIn,
} from '../../../console/src/pages/overview/queue-table.tsx';
import { queueDraft, queueFaults, queuePatch } from '../../../console/src/pages/queue/edit-queue.tsx';
import { subscriptionView } from '../../../shared/wire/views/subscription.ts';
import { aSubscription } from '../../support/builders.ts';
import { countsOf, statisticsOf } from './statistics-of.ts';

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

const iso = (at: number) => new Date(at).toISOString();

type Listed = QueueReading['retrying']['items'][number];
const retrying = (more: Partial<Listed> = {}): Listed => ({
  queue: 'orders',
  messageId: 'm',
  subscriptionId: 's',
  status: 'retrying',
  acceptedAt: iso(NOW),
  attemptCount: 1,
  ...more,
});
const due = (inMs: number, more: Partial<Listed> = {}) =>
  retrying({ nextAttemptAt: iso(NOW + inMs), ...more });

/** A delivery that failed, accepted and attempted this long ago. */
const undelivered = (acceptedAgo: number, attemptedAgo?: number): Listed =>
  retrying({
    status: 'exhausted',
    acceptedAt: iso(NOW - acceptedAgo),
    ...(attemptedAgo !== undefined && {
      lastAttempt: { number: 3, startedAt: iso(NOW - attemptedAgo), outcome: 'failed' },
    }),
  });

it.each([
  [42, { queues: { ingress: 2, delivery: 40, retry: 9, ingressDeadLetters: 5 } }],
  [0, { queues: {} }],
  [undefined, {}],
])('waitingIn counts the ingress and delivery queues, not retries nor dead letters: %s', (count, health) => {
  expect(waitingIn(health)).toBe(count);
});

describe('the figures of a queue', () => {
  const warningsIn = (more: Partial<QueueReading>) => listWarnings(computeFigures(reading(more)));

  it.each([
    [false, '2 deliveries rejected or exhausted'],
    [true, '2+ deliveries rejected or exhausted'],
  ])(
    'warn of deliveries that ended without success in the window and are still undelivered',
    (more, text) => {
      const before = 3_600_001;
      const items = [undelivered(before, 60_000), undelivered(0), undelivered(before)];
      expect(warningsIn({ undelivered: { items, more } })).toEqual([{ weight: 1, text }]);
    },
  );

  it.each([
    [['its newest messages found no subscription'], [{ messages: 1, matched: 1 }, { messages: 1 }]],
    [['its subscriptions filtered all messages'], [{ messages: 2, filtered: 2 }]],
    [
      [],
      [
        { messages: 1, matched: 1 },
        { messages: 1, filtered: 1 },
      ],
    ],
    [[], []],
  ])('warn of messages that match nothing: %j', (texts, steps) => {
    const points = steps.map((step) => ({ at: iso(NOW), ...countsOf(step) }));
    const warnings = warningsIn({ statistics: statisticsOf({}, points) });
    expect(warnings).toEqual(texts.map((text) => ({ weight: 1, text })));
  });

  it('warn of nothing once a recovery delivered what was rejected or exhausted', () => {
    expect(warningsIn({ statistics: statisticsOf({ rejected: 3, exhausted: 2 }) })).toEqual([]);
  });

  it('have no counts where the deployment keeps no statistics', () => {
    const figures = computeFigures(reading({ statistics: null }));
    expect(figures.statistics).toBeUndefined();
    expect(sumFigures([figures]).summary).toBeUndefined();
    expect(listWarnings(figures)).toEqual([]);
  });

  it.each([
    [30_000, [due(5000), due(-30_000), retrying(), due(-9000), due(-99_000, { waiting: 'pull' })]],
    [0, [due(5000), due(-99_000, { waiting: 'paused' })]],
  ])('take the lateness of the most overdue retry: %i ms', (latenessMs, items) => {
    expect(computeFigures(reading({ retrying: { items, more: false } }))).toMatchObject({ latenessMs });
  });

  it('report failing subscriptions, but not those that an operator disabled', () => {
    const failing = { since: NOW, failures: 3 };
    const items = [
      aSubscription(),
      aSubscription({ failing }),
      aSubscription({ disabled: { reason: 'gone', at: NOW }, failing }),
      aSubscription({ disabled: { reason: 'manual', at: NOW } }),
    ].map((subscription) => subscriptionView(subscription, NOW));
    const figures = computeFigures(reading({ subscriptions: { items, more: false } }));
    expect(figures.subscriptions).toEqual({ count: 4, more: false, failing: 1, off: 1 });
    expect(listWarnings(figures).map(({ text }) => text)).toEqual([
      '1 subscription disabled after failures',
      '1 subscription is failing',
    ]);
  });

  it('sort queues by the worst problem, then by name', () => {
    const row = (name: string, ...weights: number[]) => ({
      name,
      warnings: weights.map((weight) => ({ weight, text: '' })),
    });
    const rows = [row('b'), row('a'), row('z', 1), row('y', 4), row('x', 1)];
    expect(byUrgency(rows).map(({ name }) => name)).toEqual(['y', 'x', 'z', 'a', 'b']);
  });

  it('add up over queues', () => {
    const late = { items: [due(-7000)], more: true };
    const all = [
      reading({ statistics: statisticsOf({ messages: 5 }) }),
      reading({ statistics: statisticsOf({ messages: 7 }), retrying: late }),
    ];
    expect(sumFigures(all.map(computeFigures))).toMatchObject({
      summary: { total: { messages: 12 } },
      retrying: { count: 1, more: true },
      latenessMs: 7000,
    });
  });
});

const metadata = {
  _retry_policy: { maximum_delay: 60 },
  _retain_messages: 'all',
  _default_message_ttl: 3600,
  team: 'checkout',
  'a/b~c': [1],
};
const draft = queueDraft(metadata);

/** The metadata after the patch of an edit. */
const edited = (changed: Partial<typeof draft>): unknown =>
  jsonPatch.applyPatch(
    structuredClone({ metadata }),
    queuePatch(draft, { ...draft, ...changed }) as Operation[],
    true,
  ).newDocument.metadata;

describe('the patch of an edited queue', () => {
  it('names only what changed, so that changes of others stay', () => {
    expect(queuePatch(draft, draft)).toEqual([]);
    expect(queuePatch(draft, { ...draft, _default_message_delay: '5', _retain_messages: '' })).toEqual([
      { op: 'remove', path: '/metadata/_retain_messages' },
      { op: 'add', path: '/metadata/_default_message_delay', value: 5 },
    ]);
  });

  it('adds, changes and removes other metadata under any name', () => {
    const { team: _, ...others } = { ...metadata, 'a/b~c': [2], note: null };
    expect(edited({ others: '{"a/b~c": [2], "note": null}' })).toEqual(others);
  });

  it('removes the policy and everything else that is emptied', () => {
    const policy = { ...draft.policy, chosen: 'none' } as const;
    expect(edited({ _default_message_ttl: ' ', others: '', _retain_messages: '', policy })).toEqual({});
  });

  it.each(['{', '[]', 'null', '{"_default_message_ttl": 5}'])(
    'is refused with other metadata %s',
    (others) => {
      expect(queueFaults(draft).size).toBe(0);
      expect([...queueFaults({ ...draft, others }).keys()]).toEqual(['others']);
    },
  );
});

describe('firstWithin', () => {
  /** Reads a list of two items, which then waits until it is aborted. */
  const reading = (count: number, milliseconds: number, signal = new AbortController().signal) =>
    firstWithin(
      async function* (ended: AbortSignal): AsyncGenerator<number> {
        yield* [1, 2];
        await once(ended, 'abort');
        throw new Error('aborted');
      },
      count,
      { milliseconds, signal },
    );

  it('returns what it has read when the time is up, and says that there may be more', async () => {
    expect(await reading(5, 10)).toEqual({ items: [1, 2], more: true });
  });

  it('stops at the number of items asked for', async () => {
    expect(await reading(1, 60_000)).toEqual({ items: [1], more: true });
  });

  it('fails when the page is left', async () => {
    const left = new AbortController();
    const read = reading(5, 60_000, left.signal);
    setImmediate(() => {
      left.abort();
    });
    await expect(read).rejects.toThrow('aborted');
  });
});
