import { describe, expect, it } from 'vitest';
import { apiUnderTest, faultOf } from './api-under-test.ts';

const PATH = '/v2/queues/orders/subscriptions';
const requestWith = (options: unknown) => ({ subscriber: 'https://hooks.example/orders', options });
/** As text, because an object literal cannot express all of JSON. */
const filtering = (filter: string) =>
  `{"subscriber": "https://hooks.example/orders", "options": {"filter": ${filter}}}`;

describe('the filter options of a subscription', () => {
  const options = {
    attempt_timeout: 30,
    max_per_second: 0.5,
    event_types: ['order.created', 'order.paid'],
    filter: { order: { total: [{ numeric: ['>', 100] }], state: ['new', null] } },
  };

  it('are stored and shown unchanged', async () => {
    const { call } = apiUnderTest();
    expect(await call('POST', PATH, requestWith(options))).toMatchObject({ status: 201 });
    expect((await call('GET', `${PATH}/id-1`)).body).toMatchObject({ options });
  });

  it('list each type once', async () => {
    const { call } = apiUnderTest();
    await call('POST', PATH, requestWith({ event_types: ['a', 'b', 'a'] }));
    expect((await call('GET', `${PATH}/id-1`)).body).toMatchObject({ options: { event_types: ['a', 'b'] } });
  });

  it('can filter by a field with the name __proto__', async () => {
    const { call, registry } = apiUnderTest();
    const filter = '{"__proto__":{"x":[1]}}';
    expect(await call('POST', PATH, filtering(filter))).toMatchObject({ status: 201 });
    const kept = await registry.findSubscription('orders', 'id-1');
    expect(JSON.stringify(kept?.options.filter)).toBe(filter);
  });

  it('are validated in a change, which also stores the previous options', async () => {
    const { call, registry, time } = apiUnderTest();
    await call('POST', PATH, requestWith(options));
    expect(await call('PATCH', `${PATH}/id-1`, { options: { filter: { a: [] } } })).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', 'options.filter.a'),
    });
    time.now += 5000;
    await call('PATCH', `${PATH}/id-1`, { options: { event_types: ['x'] } });
    expect(await registry.findSubscription('orders', 'id-1')).toMatchObject({
      options: { event_types: ['x'] },
      formerly: { event_types: options.event_types, filter: options.filter, until: time.now },
    });
  });
});

describe('the options of a subscription cannot contain', () => {
  const tooMany = Array.from({ length: 51 }, (_, index) => `type-${index}`);

  it.each<[string, unknown, string]>([
    ['a timeout of 0', { attempt_timeout: 0 }, 'options.attempt_timeout'],
    ['a timeout over 30 s', { attempt_timeout: 31 }, 'options.attempt_timeout'],
    ['half a second', { attempt_timeout: 1.5 }, 'options.attempt_timeout'],
    ['a timeout of null', { attempt_timeout: null }, 'options.attempt_timeout'],
    ['no request at all', { max_per_second: 0 }, 'options.max_per_second'],
    ['less than a request in 100 s', { max_per_second: 0.009 }, 'options.max_per_second'],
    ['over a thousand requests a second', { max_per_second: 1000.5 }, 'options.max_per_second'],
    ['a rate of null', { max_per_second: null }, 'options.max_per_second'],
    ['no types', { event_types: [] }, 'options.event_types'],
    ['more than 50 types', { event_types: tooMany }, 'options.event_types'],
    ['an empty type', { event_types: [''] }, 'options.event_types[0]'],
    ['a type too long', { event_types: ['x'.repeat(257)] }, 'options.event_types[0]'],
    ['a control character in a type', { event_types: ['a\nb'] }, 'options.event_types[0]'],
    ['a wildcard, which would match nothing', { event_types: ['order.*'] }, 'options.event_types[0]'],
    ['a filter of null', { filter: null }, 'options.filter'],
    ['an empty filter', { filter: {} }, 'options.filter'],
    ['an error inside $or', { filter: { $or: [{ a: [1] }, { b: [] }] } }, 'options.filter.$or[1].b'],
  ])('%s', async (_what, options, field) => {
    const { call, world } = apiUnderTest();
    expect(await call('POST', PATH, requestWith(options))).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', field),
    });
    expect(await world()).toEqual({ queues: [], subscriptions: [], published: [], changes: [] });
  });

  it.each([
    [
      'nested 100,000 levels deep',
      `${'{"a":'.repeat(100_000)}[1]${'}'.repeat(100_000)}`,
      faultOf('invalid_request', 'options'),
    ],
    [
      'with a list nested 200,000 levels deep',
      `{"a": ${'['.repeat(200_000)}${']'.repeat(200_000)}}`,
      faultOf('invalid_request', 'options'),
    ],
    ['of 200,000 values', `{"a": [${'1,'.repeat(200_000)}1]}`, faultOf('too_large')],
    ['of 1 MiB', `{"a": ["${'x'.repeat(1_000_000)}"]}`, faultOf('too_large')],
    ['of 10,000 values', `{"a": [${'1,'.repeat(10_000)}1]}`, faultOf('invalid_request', 'options.filter')],
    [
      'of numbers that would lose digits',
      '{"a": [12345678901234567890]}',
      faultOf('invalid_request', 'options.filter.a[0]'),
    ],
  ])('a filter %s', async (_what, filter, fault) => {
    const { call, world } = apiUnderTest();
    expect((await call('POST', PATH, filtering(filter))).body).toEqual(fault);
    expect(await world()).toMatchObject({ queues: [], changes: [] });
  });
});
