import { describe, expect, it } from 'vitest';
import { ID, page, subscription } from './delivery-views.ts';
import { json, refusal, runOn, type StubRoutes } from './stub-api.ts';

const view = (id: string, subscriber: string, name: string) => ({ ...subscription, id, subscriber, name });
const all = [
  view(ID, 'https://acme.example/hook', 'ACME'),
  view('5b0cffff-7d0c-4a57-9d1a-0f2f3f1c9b11', 'https://acme.example/hook/2', 'ACME test'),
  view('77777777-7d0c-4a57-9d1a-0f2f3f1c9b11', 'https://twin.example/1', 'twin'),
  view('88888888-7d0c-4a57-9d1a-0f2f3f1c9b11', 'https://twin.example/2', 'twin'),
];

const LIST = 'GET /v2/queues/orders/subscriptions';
const routes: StubRoutes = {
  ...Object.fromEntries(all.map((one) => [`${LIST}/${one.id}`, json(one)])),
  /** The API's match: the start of an id, or a part of a name or URL. One subscription per page. */
  [LIST]: ({ path }) => {
    const asked = new URLSearchParams(path.split('?')[1]);
    const match = asked.get('match') ?? '';
    const found = all.filter(
      ({ id, name, subscriber }) =>
        id.startsWith(match) || name.includes(match) || subscriber.includes(match),
    );
    const at = Number(asked.get('marker') ?? 0);
    const links = at + 1 < found.length ? [{ rel: 'next', href: `/x?marker=${at + 1}` }] : [];
    return json({ subscriptions: found.slice(at, at + 1), links });
  },
};
const show = (reference: string) => runOn(routes, ['subscription', 'show', 'orders', reference, '--json']);

describe('a subscription in a command', () => {
  it.each([
    ['its id', ID],
    ['the start of its id', '5b0c0'],
    ['its name, which another one contains', 'ACME'],
    ['its URL, which another one contains', 'https://acme.example/hook'],
  ])('is found by %s', async (_, reference) => {
    expect((await show(reference)).lines).toMatchObject([{ id: ID }]);
  });

  it.each([
    [
      'a start of two ids',
      '5b0c',
      'fits 2 subscriptions of queue orders: 5b0c0f1e (ACME), 5b0cffff (ACME test). Give',
    ],
    ['a name of two', 'twin', 'fits 2 subscriptions'],
    ['a part of a name', 'CME t', 'on queue orders. Did you mean 5b0cffff (ACME test)?'],
    ['a start that is too short', '888', 'on queue orders. Did you mean 88888888 (twin)?'],
    ['none', 'nothing', 'on queue orders. To see all, run npm run -s posthaste -- subscription list orders"'],
  ])('is refused with the ones it may mean: %s', async (_, reference, message) => {
    const { status, stderr } = await show(reference);
    expect(status).toBe(1);
    expect(stderr).toContain(`${reference} ${message}`);
  });

  it('is found by its whole id only on a deployment of an earlier version', async () => {
    const fields = [{ field: 'match', message: 'is not a known field' }];
    const earlier = {
      ...routes,
      [LIST]: refusal(400, 'invalid_request', 'match is not a known field', fields),
      'GET /v2/queues/orders/deliveries': page(),
    };
    const { status, stderr } = await runOn(earlier, 'subscription show orders ACME');
    expect(status).toBe(1);
    expect(stderr).toContain('Names and URLs of subscriptions need a deployment of this version: ');
    expect((await runOn(earlier, `subscription show orders ${ID}`)).status).toBe(0);
  });

  it.each([
    ['deliveries list orders --subscription ACME', /\/deliveries\?.*subscription=/],
    ['recover start orders --since 1h --subscription ACME', /\/recoveries .*"subscription":"/],
  ])('is looked up for a filter as well: %s', async (line, asked) => {
    const { requests } = await runOn(routes, line);
    const all = requests.map(({ path, body }) => `${path} ${body}`).join('\n');
    expect(all).toMatch(new RegExp(`${asked.source}${ID}`));
  });
});
