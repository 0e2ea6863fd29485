import jsonPatch from 'fast-json-patch';
import type { Operation } from 'fast-json-patch';
import { describe, expect, it } from 'vitest';
import { firstWithin } from '../../../console/src/api/listed.ts';
import {
  byUrgency,
  figuresOf,
  type QueueReading,
  totalOf,
  waitingIn,
  warningsOf,
} from '../../../console/src/pages/overview/queue-table.tsx';
import { queueDraft, queueFaults, queuePatch } from '../../../console/src/pages/queue/edit-queue.tsx';
import { subscriptionView } from '../../../shared/wire/views/subscription.ts';
import { aSubscription } from '../../support/builders.ts';
import { statisticsOf } from './statistics-of.ts';

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
  it('is empty if nothing changed', () => {
    expect(queuePatch(draft, draft)).toEqual([]);
  });

  it('names only what changed, so that changes of others stay', () => {
    expect(queuePatch(draft, { ...draft, _default_message_delay: '5', _retain_messages: '' })).toEqual([
      { op: 'remove', path: '/metadata/_retain_messages' },
      { op: 'add', path: '/metadata/_default_message_delay', value: 5 },
    ]);
  });

  it('adds, changes and removes other metadata under any name', () => {
    expect(edited({ others: '{"a/b~c": [2], "note": null}' })).toEqual({
      _retry_policy: { maximum_delay: 60 },
      _retain_messages: 'all',
      _default_message_ttl: 3600,
      'a/b~c': [2],
      note: null,
    });
  });

  it('removes the policy and everything else that is emptied', () => {
    const empty = {
      _default_message_ttl: ' ',
      others: '',
      _retain_messages: '',
      policy: { ...draft.policy, chosen: 'none' },
    } as const;
    expect(edited(empty)).toEqual({});
  });
});

describe('the errors of the form of a queue', () => {
  it.each(['{', '[]', 'null', '{"_default_message_ttl": 5}'])('name wrong metadata: %s', (others) => {
    expect([...queueFaults({ ...draft, others }).keys()]).toEqual(['others']);
  });

  it('accept what is stored', () => {
    expect(queueFaults(draft).size).toBe(0);
  });
});

/** Lists two items, then waits until it is aborted. */
const twoThenNothing = async function* (signal: AbortSignal): AsyncGenerator<number> {
  yield 1;
  yield 2;
  await new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      reject(new Error('aborted'));
    });
  });
};

const open = new AbortController().signal;

it('firstWithin returns what it has read when the time is up, and says that there may be more', async () => {
  const read = firstWithin(twoThenNothing, 5, { milliseconds: 10, signal: open });
  expect(await read).toEqual({ items: [1, 2], more: true });
});

it('firstWithin stops at the number of items asked for', async () => {
  const read = firstWithin(twoThenNothing, 1, { milliseconds: 60_000, signal: open });
  expect(await read).toEqual({ items: [1], more: true });
});

it('firstWithin fails when the page is left', async () => {
  const left = new AbortController();
  const read = firstWithin(twoThenNothing, 5, { milliseconds: 60_000, signal: left.signal });
  setImmediate(() => {
    left.abort();
  });
  await expect(read).rejects.toThrow('aborted');
});
