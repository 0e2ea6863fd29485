import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { addSubscription } from '../../support/add-subscription.ts';
import { aMessage, aSubscription } from '../../support/builders.ts';
import {
  type Api,
  apiWithOrders,
  NOON,
  pagesFrom,
  recordAll,
  recordMessage,
  refusal,
} from './api-under-test.ts';

const PATH = '/v2/queues/orders/messages/m/explain';

const explanation = z.object({
  message: z.object({ id: z.string(), matched: z.number(), filtered: z.number() }),
  subscriptions: z.array(z.looseObject({ subscriptionId: z.string(), verdict: z.string() })),
  links: z.array(z.object({ href: z.string() })),
});

let api: Api;

beforeEach(async () => {
  api = await apiWithOrders();
});

const subscribe = (id: string, more: Partial<Subscription> = {}) =>
  addSubscription(api.registry, aSubscription({ id, subscriber: `https://${id}.test/`, ...more }));

const delivered = (...ids: string[]) =>
  recordAll(
    api,
    ids.map((subscriptionId) => ({ messageId: 'm', subscriptionId, status: 'delivered' as const })),
  );

const published = (more: Partial<Parameters<typeof recordMessage>[1]> = {}) =>
  recordMessage(api, {
    messageId: 'm',
    queueCreatedAt: 0,
    body: { kind: 'inline', message: aMessage({ id: 'm', data: '{"order": {"total": 5}}' }) },
    ...more,
  });

const pageAt = async (path: string) => explanation.parse(await api.get(path));

/** The verdict of each subscription, page by page. */
const verdicts = async (query = ''): Promise<Record<string, string>[]> => {
  const pages = await pagesFrom(pageAt, `${PATH}${query}`);
  return pages.map(({ subscriptions }) =>
    Object.fromEntries(subscriptions.map((one) => [one.subscriptionId, one.verdict])),
  );
};

describe('GET …/messages/{message}/explain', () => {
  it('explains each subscription of the queue, and a removed one that has a delivery', async () => {
    await subscribe('got-it', { name: 'Billing' });
    await subscribe('large-only', { options: { filter: { order: { total: [{ numeric: ['>', 100] }] } } } });
    await subscribe('newcomer', { createdAt: NOON + 1 });
    await subscribe('paid-only', { options: { event_types: ['order.paid'] } });
    await published({ matched: 2, filtered: 2, type: 'order.created' });
    await delivered('got-it', 'removed');

    const { message, subscriptions, links } = await pageAt(PATH);
    expect(message).toMatchObject({ id: 'm', matched: 2, filtered: 2 });
    expect(links).toEqual([]);
    expect(subscriptions).toMatchObject([
      {
        subscriptionId: 'got-it',
        name: 'Billing',
        subscriber: 'https://got-it.test/',
        verdict: 'delivered',
        certain: true,
        delivery: { status: 'delivered', attemptCount: 0 },
      },
      { subscriptionId: 'large-only', verdict: 'filtered', rule: { by: 'filter', path: 'order.total' } },
      { subscriptionId: 'newcomer', verdict: 'added_later' },
      { subscriptionId: 'paid-only', verdict: 'filtered', certain: true, rule: { by: 'event_types' } },
      { subscriptionId: 'removed', verdict: 'delivered', delivery: { status: 'delivered' } },
    ]);
    expect(subscriptions.at(-1)).not.toHaveProperty('subscriber');
  });

  it('pages through the subscriptions, then through the removed ones', async () => {
    for (const id of ['a', 'c', 'e']) await subscribe(id);
    await published({ matched: 5 });
    await delivered('a', 'b', 'c', 'd', 'e');

    const pages = await verdicts('?limit=2');
    expect(pages.map((page) => Object.keys(page)).flat()).toEqual(['a', 'c', 'e', 'b', 'd']);
    expect(await verdicts('?limit=3')).toHaveLength(3);
  });

  it('leaves out a subscription that is marked for deletion, unless it has a delivery', async () => {
    await subscribe('has-delivery', { deletedAt: NOON + 1 });
    await subscribe('has-none', { deletedAt: NOON + 1 });
    await published();
    await delivered('has-delivery');
    expect(await verdicts()).toEqual([{ 'has-delivery': 'delivered' }]);
  });

  it('explains one subscription', async () => {
    await subscribe('a');
    await subscribe('b');
    await published({ matched: 2 });
    await delivered('a');
    expect(await verdicts('?subscription=b')).toEqual([{ b: 'not_sent_yet' }]);
    expect(await api.call('GET', `${PATH}?subscription=other`)).toMatchObject(refusal('not_found'));
  });

  it('does not read the body where every subscription has a delivery', async () => {
    await subscribe('a');
    await published({ body: { kind: 'stored', payloadKey: 'orders/m/gone' } });
    await delivered('a');
    api.payloads.get = () => Promise.reject(new Error('not needed'));
    expect(await verdicts()).toEqual([{ a: 'delivered' }]);
  });

  it('says that the queue was deleted, also after another one has its name', async () => {
    await published();
    await recordAll(api, [
      { messageId: 'm', subscriptionId: 'a', status: 'cancelled', reason: 'subscription_deleted' },
    ]);
    const cancelled = { verdict: 'cancelled', detail: 'The queue has been deleted.' };
    await api.registry.deleteQueue('orders', NOON + 1);
    await api.registry.removeDeletedQueue('orders', () => true);
    expect((await pageAt(PATH)).subscriptions).toMatchObject([cancelled]);
    await api.registry.putQueue({ name: 'orders', createdAt: NOON + 2, metadata: {} });
    expect((await pageAt(PATH)).subscriptions).toMatchObject([cancelled]);
  });

  it('says what a message without a record can mean', async () => {
    const { status, body } = await api.call('GET', PATH);
    expect(status).toBe(404);
    const message: unknown = expect.stringMatching(
      /never accepted.*ingress queue.*dead letters.*retention of 30 days/,
    );
    expect(body).toMatchObject({ error: { message } });
    expect((await api.call('GET', '/v2/queues/orders/messages/m')).body).toEqual(body);
  });
});
