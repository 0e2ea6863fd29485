import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { faultOf, NOON } from './api-under-test.ts';
import { apiWithOrders, recordAll, recordMessage } from './recorded.ts';

const LISTINGS = [{ listing: 'books' }, { listing: 'deliveries' }, { listing: 'messages' }];

const linksSchema = z.looseObject({ links: z.array(z.object({ href: z.string() })) });

describe.each(LISTINGS)('$listing of an unknown queue', ({ listing }) => {
  it('are refused, so that a mistyped name does not look like an empty queue', async () => {
    const { call } = await apiWithOrders();
    expect(await call('GET', `/v2/queues/ordres/${listing}`)).toMatchObject({
      status: 404,
      body: faultOf('not_found'),
    });
  });

  it('are listed with deleted=true, page by page', async () => {
    const api = await apiWithOrders();
    for (const [messageId, acceptedAt] of [
      ['one', NOON - 2],
      ['two', NOON - 1],
    ] as const) {
      await recordMessage(api, { messageId, acceptedAt });
      await recordAll(api, [{ messageId, acceptedAt }]);
    }
    expect((await api.call('DELETE', '/v2/queues/orders')).status).toBe(204);
    expect((await api.call('GET', `/v2/queues/orders/${listing}`)).status).toBe(404);
    const limit = listing === 'books' ? '' : '&limit=1';
    let path: string | undefined =
      `/v2/queues/orders/${listing}?deleted=true&since=2026-11-21T11:00:00Z${limit}`;
    let seen = '';
    while (path !== undefined) {
      const { status, body } = await api.call('GET', path);
      expect(status).toBe(200);
      seen += JSON.stringify(body);
      path = linksSchema.parse(body).links[0]?.href;
    }
    if (listing === 'books') expect(seen).toContain('"accepted":2');
    else expect(seen).toMatch(/"two".*"one"/);
  });
});
