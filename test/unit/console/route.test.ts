import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hrefTo, parseRoute, type Route } from '../../../console/src/route.ts';

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
    const routes = fc.oneof(
      fc.record({ page: fc.constant('queue' as const), queue: text }),
      fc.record({ page: fc.constant('subscription' as const), queue: text, subscription: text }),
      fc.record({ page: fc.constant('message' as const), queue: text, message: text }),
      fc.record({ page: fc.constant('delivery' as const), queue: text, message: text, subscription: text }),
      fc.record({ page: fc.constantFrom('messages' as const, 'deliveries' as const), queue: text, query }),
      fc.record({ page: fc.constantFrom('recovery' as const, 'books' as const), queue: text, query }),
      fc.record({
        page: fc.constantFrom(
          'recovery' as const,
          'books' as const,
          'designer' as const,
          'dead-letters' as const,
        ),
        query,
      }),
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
