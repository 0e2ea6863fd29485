import { describe, expect, it } from 'vitest';
import { type ApiClient, type ApiRequest, clientBy } from '../../../api-client/api-client.ts';
import { ApiRefusal } from '../../../api-client/refusal.ts';
import { search, type Found } from '../../../console/src/api/search.ts';
import { subscriptionView } from '../../../shared/wire/views/subscription.ts';
import { aSubscription } from '../../support/builders.ts';

const aMessageView = (queue: string): object => ({
  queue,
  id: 'order',
  acceptedAt: '2026-01-01T00:00:00.000Z',
  duplicates: 0,
  matched: 0,
  filtered: 0,
  deliveries: { pending: 0, retrying: 0, delivered: 0, rejected: 0, exhausted: 0, cancelled: 0 },
  bodyKept: false,
});

/** The API with these queues; `answers` by path, 404 for any other. Keeps the requests and how many ran at once. */
const apiWith = (queues: readonly string[], answers: Readonly<Record<string, object | number>>) => {
  const asked: string[] = [];
  let running = 0;
  let mostAtOnce = 0;
  const send = async ({ method, path, search }: ApiRequest) => {
    asked.push(path + search);
    mostAtOnce = Math.max(mostAtOnce, (running += 1));
    await Promise.resolve();
    running -= 1;
    const list = { queues: queues.map((name) => ({ name, metadata: {} })) };
    const known = { '/v2/queues': list, ...answers }[path];
    const none = path.endsWith('/subscriptions') ? { subscriptions: [] } : 404;
    const answer: object | number = known ?? none;
    if (typeof answer !== 'number')
      return { status: 200, text: JSON.stringify(answer), headers: new Headers() };
    const code = answer === 404 ? 'not_found' : 'forbidden';
    throw new ApiRefusal(`${method} ${path}`, answer, JSON.stringify({ error: { code, message: code } }));
  };
  return { api: clientBy('the API', send), asked, mostAtOnce: () => mostAtOnce };
};

/** Everything that a search reports, the result last. */
const found = async (api: ApiClient, text: string, first?: string): Promise<Found | undefined> => {
  const reports: Found[] = [];
  const onFound = (report: Found): void => void reports.push(report);
  await search(api, text, { first, signal: new AbortController().signal, onFound });
  return reports.at(-1);
};

describe('search', () => {
  it('finds a message by its id in every queue that has it, and queues by a part of their name', async () => {
    const { api } = apiWith(['billing', 'orders', 'order-archive'], {
      '/v2/queues/orders/messages/order': aMessageView('orders'),
      '/v2/queues/billing/messages/order': aMessageView('billing'),
    });
    expect(await found(api, 'order')).toMatchObject({
      messages: ['billing', 'orders'],
      queues: ['orders', 'order-archive'],
      subscriptions: [],
      isDone: true,
      failed: { count: 0 },
    });
  });

  it('lets the API match subscriptions', async () => {
    const view = subscriptionView(aSubscription(), 0);
    const { api, asked } = apiWith(['orders'], {
      '/v2/queues/orders/subscriptions': { subscriptions: [view] },
    });
    expect((await found(api, 'a b'))?.subscriptions).toEqual([view]);
    expect(asked).toContain('/v2/queues/orders/subscriptions?match=a+b&limit=10');
  });

  it('names the queues with more subscriptions than it shows', async () => {
    const subscriptions = Array.from({ length: 10 }, () => subscriptionView(aSubscription(), 0));
    const { api } = apiWith(['orders', 'few'], {
      '/v2/queues/orders/subscriptions': { subscriptions, links: [{ rel: 'next', href: '/x?marker=1' }] },
      '/v2/queues/few/subscriptions': { subscriptions },
    });
    expect((await found(api, 'a'))?.cutIn).toEqual(['orders']);
  });

  it('counts the queues that it could not look in, and keeps the first reason', async () => {
    const { api } = apiWith(['mine', 'theirs'], { '/v2/queues/theirs/messages/x': 403 });
    const result = await found(api, 'x');
    expect(result).toMatchObject({ lookedIn: 2, messages: [], failed: { count: 1 } });
    expect(result?.failed.failure).toMatchObject({ code: 'forbidden' });
  });

  it('begins with the queue of the page, and leaves room for the polling of the page', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `queue-${index}`);
    const { api, asked, mostAtOnce } = apiWith(names, {});
    expect(await found(api, 'x', 'queue-20')).toMatchObject({ lookedIn: 30, more: false });
    expect(asked[1]).toBe('/v2/queues/queue-20/messages/x');
    expect(mostAtOnce()).toBeLessThanOrEqual(8);
  });

  it('stops when its results are closed', async () => {
    const { api, asked } = apiWith(['one', 'two'], {});
    const closed = AbortSignal.abort();
    const reports: Found[] = [];
    await search(api, 'x', { first: undefined, signal: closed, onFound: (report) => reports.push(report) });
    expect(reports).toEqual([]);
    expect(asked).toEqual(['/v2/queues?detailed=true&limit=100']);
  });
});
