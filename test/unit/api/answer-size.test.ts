import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { aQueue, aSubscription } from '../../support/builders.ts';
import { anAttempt, answered } from '../../support/delivery-builders.ts';
import { httpApiAnswer } from '../../../functions/api/http-api-event.ts';
import { apiUnderTest, CALLER, PUBLIC_URL } from './api-under-test.ts';
import { wholeApi } from '../../support/whole-api.ts';
import { apiWithOrders, recordAll, recordMessage } from './recorded.ts';

/** Lambda quotas, "Invocation payload (synchronous)". */
const LAMBDA_BYTES = 6_291_556;

const SUBSCRIPTIONS = '/v2/queues/orders/subscriptions';

const listSchema = z.looseObject({ links: z.array(z.object({ href: z.string() })) });

/** The ids on each page. Checks that no page is too large for Lambda. */
const walk = async (
  api: ReturnType<typeof apiUnderTest>,
  first: string,
  [list, id]: readonly [string, string],
): Promise<string[][]> => {
  const app = wholeApi(api.dependencies);
  const pages: string[][] = [];
  for (let path: string | undefined = first; path !== undefined;) {
    const answer = await httpApiAnswer(
      await app.request(path, {}, { caller: CALLER, publicUrl: PUBLIC_URL }),
    );
    expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(LAMBDA_BYTES);
    const { links, [list]: items } = listSchema.parse(JSON.parse(answer.body));
    const named = z.array(z.looseObject({ [id]: z.string() })).parse(items);
    pages.push(named.map(({ [id]: name }) => String(name)));
    path = links[0]?.href;
  }
  return pages;
};

const sizesOf = (pages: readonly string[][]): number[] => pages.map(({ length }) => length);

/** The API with subscriptions in the queue `orders`, each with these options. */
const withSubscriptions = async (all: readonly Pick<Subscription, 'options' | 'expiresAt'>[]) => {
  const api = await apiWithOrders();
  for (const [index, one] of all.entries())
    await api.registry.addSubscription(
      aSubscription({ id: `s-${index}`, subscriber: `https://hooks.example/${index}`, ...one }),
    );
  return api;
};

const LARGE = { post_data: 'x'.repeat(65_000) };

const timedOut = (detail: string) => ({ kind: 'unanswered', error: 'timeout', detail }) as const;

describe('a page ends at the size limit of a response', () => {
  it('of subscriptions with options of 64 KiB', async () => {
    const api = await withSubscriptions(Array.from({ length: 100 }, () => ({ options: LARGE })));
    const pages = await walk(api, `${SUBSCRIPTIONS}?limit=100`, ['subscriptions', 'id']);
    expect(sizesOf(pages)).toEqual([76, 24]);
    expect(new Set(pages.flat()).size).toBe(100);
  });

  it('of subscriptions with many quotes, which take four times their size', async () => {
    const options = { post_data: '"'.repeat(32_000) };
    const api = await withSubscriptions(Array.from({ length: 60 }, () => ({ options })));
    const pages = await walk(api, `${SUBSCRIPTIONS}?limit=100`, ['subscriptions', 'id']);
    expect(sizesOf(pages)).toEqual([39, 21]);
  });

  it('and does not count expired subscriptions', async () => {
    const expired = { options: LARGE, expiresAt: 1 };
    const api = await withSubscriptions(
      Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? expired : { options: LARGE })),
    );
    const pages = await walk(api, `${SUBSCRIPTIONS}?limit=100`, ['subscriptions', 'id']);
    expect(sizesOf(pages)).toEqual([50]);
  });

  it('of queues with metadata, but not of queue names alone', async () => {
    const api = apiUnderTest();
    for (let index = 0; index < 100; index += 1)
      await api.registry.putQueue(
        aQueue({ name: `q${String(index).padStart(3, '0')}`, metadata: { note: 'x'.repeat(65_000) } }),
      );
    const pages = await walk(api, '/v2/queues?limit=100&detailed=true', ['queues', 'name']);
    expect(sizesOf(pages)).toEqual([76, 24]);
    expect(pages.flat()).toEqual(pages.flat().toSorted());
    expect(sizesOf(await walk(api, '/v2/queues?limit=100', ['queues', 'name']))).toEqual([100]);
  });

  it('of the deliveries of a message', async () => {
    const api = await apiWithOrders();
    await recordMessage(api, { messageId: 'm-1' });
    const attempts = [anAttempt({ result: answered(503, 'x'.repeat(200_000)) })];
    await recordAll(
      api,
      Array.from({ length: 50 }, (_, index) => ({
        messageId: 'm-1',
        subscriptionId: `s-${String(index).padStart(2, '0')}`,
        attempts,
      })),
    );
    const path = '/v2/queues/orders/messages/m-1/deliveries?limit=100';
    const pages = await walk(api, path, ['deliveries', 'subscriptionId']);
    expect(pages.length).toBeGreaterThan(2);
    expect(pages.flat()).toHaveLength(50);
    expect(new Set(pages.flat()).size).toBe(50);
  });

  it('of the deliveries of a queue', async () => {
    const api = await apiWithOrders();
    const attempts = [anAttempt({ result: timedOut('x'.repeat(65_000)) })];
    await recordAll(
      api,
      Array.from({ length: 100 }, (_, index) => ({ messageId: `m-${index}`, attempts })),
    );
    const pages = await walk(api, '/v2/queues/orders/deliveries?limit=100', ['deliveries', 'messageId']);
    expect(sizesOf(pages)).toEqual([76, 24]);
    expect(new Set(pages.flat()).size).toBe(100);
  });

  it('but always holds at least one item', async () => {
    const api = await apiWithOrders();
    const attempts = [anAttempt({ result: timedOut('x'.repeat(5_000_001)) })];
    await recordAll(
      api,
      ['a', 'b', 'c'].map((messageId) => ({ messageId, attempts })),
    );
    const path = '/v2/queues/orders/deliveries';
    expect(sizesOf(await walk(api, path, ['deliveries', 'messageId']))).toEqual([1, 1, 1]);
  });
});
