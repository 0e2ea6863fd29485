import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hrefTo, parseRoute, type Route } from '../../../console/src/route.ts';
import { takeSessionToken } from '../../../console/src/session-token.ts';

describe('takeSessionToken', () => {
  /** A browser tab on the given address; `stored` is its session storage. */
  const tab = (
    hash: string,
    stored: Record<string, string> = {},
    isAccepted = (_token: string) => Promise.resolve(true),
  ) => {
    const storage = {
      getItem: (key: string) => stored[key] ?? null,
      setItem: (key: string, value: string) => void Object.assign(stored, { [key]: value }),
      removeItem: (key: string) => void Reflect.deleteProperty(stored, key),
    };
    const addresses: string[] = [];
    const history = {
      replaceState: (_state: unknown, _title: string, address?: string | URL | null) =>
        void addresses.push(String(address)),
    };
    const channel = new BroadcastChannel('tabs-of-a-test');
    onTestFinished(() => {
      channel.close();
    });
    return { channel, isAccepted, location: { hash, pathname: '/' }, history, storage, addresses, stored };
  };

  it('moves the token of the printed link from the address to the storage of the tab', async () => {
    const first = tab('#token=abc');
    expect((await takeSessionToken(first)).value).toBe('abc');
    expect(first.addresses).toEqual(['/#/']);
    const reloaded = tab('#/queues/orders', first.stored);
    expect((await takeSessionToken(reloaded)).value).toBe('abc');
    expect(reloaded.addresses).toEqual([]);
  });

  it('gets it from an open tab, keeps the pasted address, and hands it on', async () => {
    const open = await takeSessionToken(tab('#token=of-this-run'));
    const pasted = tab('#/queues/orders');
    const second = await takeSessionToken(pasted);
    expect(second.value).toBe('of-this-run');
    expect(pasted.addresses).toEqual([]);
    open.forget();
    expect((await takeSessionToken(tab('#/'))).value).toBe('of-this-run');
  });

  it('takes the token that the console accepts, if a hidden tab of an earlier run answers first', async () => {
    for (let tabs = 0; tabs < 2; tabs += 1)
      await takeSessionToken(tab('#/', { 'posthaste-token': 'of-an-earlier-run' }));
    const offered: string[] = [];
    const isAccepted = (token: string) => {
      offered.push(token);
      return Promise.resolve(token === 'of-this-run');
    };
    expect((await takeSessionToken(tab('#/', {}, isAccepted))).value).toBeUndefined();
    expect(offered).toEqual(['of-an-earlier-run']);
    await takeSessionToken(tab('#token=of-this-run'));
    expect((await takeSessionToken(tab('#/', {}, isAccepted))).value).toBe('of-this-run');
  });

  it('does not hand on, nor keep, a token that was refused', async () => {
    const ended = tab('#token=of-an-earlier-run');
    (await takeSessionToken(ended)).forget();
    expect(ended.stored).toEqual({});
    expect((await takeSessionToken(tab('#/', ended.stored))).value).toBeUndefined();
  });
});

describe('the address of a page of the console', () => {
  it.each<[string, Route]>([
    ['', { page: 'overview' }],
    ['#/', { page: 'overview' }],
    ['#/queues', { page: 'overview' }],
    ['#/queues/orders', { page: 'queue', queue: 'orders' }],
    ['#/queues/orders/recovery?since=x', { page: 'recovery', queue: 'orders', query: { since: 'x' } }],
    ['#/recovery', { page: 'recovery', query: {} }],
    ['#/designer?queue=orders', { page: 'designer', query: { queue: 'orders' } }],
    ['#/dead-letters?which=delivery', { page: 'dead-letters', query: { which: 'delivery' } }],
    ['#/queues/orders/messages/a%2Fb', { page: 'message', queue: 'orders', message: 'a/b' }],
    ['#/queues/orders/messages/m/deliveries', { page: 'unknown' }],
    ['#/queues/orders/messages/m/deliveries/s/more', { page: 'unknown' }],
    ['#/queues/orders/elsewhere', { page: 'unknown' }],
    ['#/elsewhere', { page: 'unknown' }],
    ['#/queues/%E0%A4%A', { page: 'unknown' }],
  ])('%s is parsed as its route', (hash, route) => {
    expect(parseRoute(hash)).toEqual(route);
  });

  it('is parsed as the route that it was built from, with any characters in ids', () => {
    const text = fc.string({ minLength: 1 });
    const query = fc.dictionary(fc.constantFrom('since', 'until', 'status'), text);
    const page = <Page extends string>(...pages: Page[]) => fc.constantFrom(...pages);
    const routes = fc.oneof(
      fc.record({ page: page('queue'), queue: text }),
      fc.record({ page: page('subscription'), queue: text, subscription: text }),
      fc.record({ page: page('message'), queue: text, message: text }),
      fc.record({ page: page('delivery'), queue: text, messageId: text, subscriptionId: text }),
      fc.record({ page: page('messages', 'deliveries', 'recovery', 'books'), queue: text, query }),
      fc.record({ page: page('recovery', 'books', 'designer', 'dead-letters'), query }),
    );
    fc.assert(
      fc.property(routes, (route) => {
        expect(parseRoute(hrefTo(route))).toEqual(route);
      }),
    );
  });

  it('leaves out undefined query values', () => {
    expect(hrefTo({ page: 'books', queue: 'orders', query: { since: undefined } })).toBe(
      '#/queues/orders/books',
    );
  });
});
