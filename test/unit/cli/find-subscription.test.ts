import { describe, expect, it } from 'vitest';
import { json, refusal, stubApi, type StubApi } from './stub-api.ts';

const ACME = '5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11';
const view = (id: string, subscriber: string, name?: string) => ({
  id,
  source: 'orders',
  ...(name !== undefined && { name }),
  subscriber,
  ttl: null,
  age: 90,
  options: {},
  confirmed: true,
});
const all = [
  view(ACME, 'https://acme.example/hook', 'ACME'),
  view('5b0cffff-7d0c-4a57-9d1a-0f2f3f1c9b11', 'https://acme.example/hook/2', 'ACME test'),
  view('77777777-7d0c-4a57-9d1a-0f2f3f1c9b11', 'https://twin.example/1', 'twin'),
  view('88888888-7d0c-4a57-9d1a-0f2f3f1c9b11', 'https://twin.example/2', 'twin'),
];

/** The API's match: the start of an id, or a part of a name or URL. One subscription per page. */
const LIST = 'GET /v2/queues/orders/subscriptions';
const listing = (): Promise<StubApi> =>
  stubApi({
    [LIST]: ({ path }) => {
      const { searchParams } = new URL(path, 'http://api');
      const match = searchParams.get('match') ?? '';
      const found = all.filter(
        ({ id, name = '', subscriber }) =>
          id.startsWith(match) || name.includes(match) || subscriber.includes(match),
      );
      const at = Number(searchParams.get('marker') ?? 0);
      const links = at + 1 < found.length ? [{ rel: 'next', href: `/x?marker=${at + 1}` }] : [];
      return json({ subscriptions: found.slice(at, at + 1), links });
    },
    ...Object.fromEntries(all.map((one) => [`${LIST}/${one.id}`, () => json(one)])),
  });
const show = async (reference: string) =>
  (await listing()).run(['subscription', 'show', 'orders', reference, '--json']);

describe('a subscription in a command', () => {
  it.each([
    ['its id', ACME],
    ['the start of its id', '5b0c0'],
    ['its name, which another one contains', 'ACME'],
    ['its URL, which another one contains', 'https://acme.example/hook'],
  ])('is found by %s', async (_, reference) => {
    const { stdout } = await show(reference);
    expect(JSON.parse(stdout)).toMatchObject({ id: ACME });
  });

  it.each([
    [
      'a start of two ids',
      '5b0c',
      /5b0c fits 2 subscriptions of queue orders: 5b0c0f1e \(ACME\), 5b0cffff \(ACME test\)\. Give/,
    ],
    ['a name of two', 'twin', /twin fits 2 subscriptions/],
    [
      'a part of a name',
      'CME t',
      /no subscription CME t on queue orders\. Did you mean 5b0cffff \(ACME test\)\?/,
    ],
    [
      'a start that is too short',
      '888',
      /no subscription 888 on queue orders\. Did you mean 88888888 \(twin\)\?/,
    ],
    [
      'none',
      'nothing',
      /no subscription nothing on queue orders\. To see all, run npm run -s posthaste -- subscription list orders$/,
    ],
  ])('is refused with the ones it may mean: %s', async (_, reference, message) => {
    const { status, stderr } = await show(reference);
    expect(status).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({
      error: { message: expect.stringMatching(message) as unknown },
    });
  });

  it('is found by its whole id only on a deployment of an earlier version', async () => {
    const unknown = () =>
      refusal(400, 'invalid_request', 'match is not a known field', [
        { field: 'match', message: 'is not a known field' },
      ]);
    const api = await stubApi({
      [LIST]: unknown,
      [`${LIST}/${ACME}`]: () => json(all[0]),
      'GET /v2/queues/orders/deliveries': () => json({ deliveries: [], links: [] }),
    });
    const { status, stderr } = await api.run(['subscription', 'show', 'orders', 'ACME']);
    expect(status).toBe(1);
    expect(stderr).toContain('Names and URLs of subscriptions need a deployment of this version: ');
    expect((await api.run(['subscription', 'show', 'orders', ACME])).status).toBe(0);
  });

  it('is looked up for the filters of lists and recoveries as well', async () => {
    const api = await listing();
    await api.run(['deliveries', 'list', 'orders', '--subscription', 'ACME']);
    await api.run(['recover', 'start', 'orders', '--since', '1h', '--subscription', 'ACME']);
    expect(api.requests.find(({ path }) => path.includes('/deliveries'))?.path).toContain(
      `subscription=${ACME}`,
    );
    expect(api.requests.find(({ method }) => method === 'POST')?.body).toContain(`"subscription":"${ACME}"`);
  });
});
