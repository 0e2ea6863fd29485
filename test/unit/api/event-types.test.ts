import { describe, expect } from 'vitest';
import * as z from 'zod';
import { anEventType } from '../../support/builders.ts';
import {
  type Api,
  CALLER,
  HOOK,
  invalid,
  itWithOrders as it,
  ONE,
  refusal,
  SUBSCRIPTIONS,
} from './api-test.ts';

const TYPES = '/v2/event-types';
const CREATED = `${TYPES}/order.created`;
const OF_ORDERS = '/v2/queues/orders/event-types';

const NOON_TEXT = '2026-11-21T12:00:00.000Z';

const FULL = {
  description: 'An order was created.\nBy a customer.',
  schema: { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] },
  example: { total: 1250 },
  group: 'orders',
  deprecated: false,
  queues: ['orders', 'bills'],
};

/** Each level refers to the next one twice: 2^40 ways to check one value. */
const twice = (level: number) => ({ anyOf: [{ $ref: `#/$defs/d${level}` }, { $ref: `#/$defs/d${level}` }] });
const HOSTILE = {
  ...twice(0),
  $defs: {
    ...Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`d${at}`, twice(at + 1)])),
    d40: { not: {} },
  },
};

const nested = (levels: number): unknown => (levels === 0 ? {} : { a: nested(levels - 1) });

describe('PUT /v2/event-types/{type}', () => {
  it('creates a type, and shows it as it was put', async ({ call, get, changes }) => {
    const view = { name: 'order.created', ...FULL, created_at: NOON_TEXT, changed_at: NOON_TEXT };
    const { status, headers, body } = await call('PUT', CREATED, FULL);
    expect({ status, body }).toEqual({ status: 201, body: view });
    expect(headers.get('location')).toBe(CREATED);
    expect(await get(CREATED)).toEqual(view);
    expect(changes).toEqual([{ ...CALLER, change: 'event_type_created', eventType: 'order.created' }]);
  });

  it('replaces a type as a whole, and says since when it exists', async ({ call, get, changes, time }) => {
    await call('PUT', CREATED, FULL);
    time.now += 1000;
    const { status, body } = await call('PUT', CREATED, { description: 'Other' });
    const changed_at = '2026-11-21T12:00:01.000Z';
    const view = { name: 'order.created', description: 'Other', created_at: NOON_TEXT, changed_at };
    expect({ status, body }).toEqual({ status: 200, body: view });
    expect(await get(CREATED)).toEqual(view);
    const changed = ['deprecated', 'description', 'example', 'group', 'queues', 'schema'];
    expect(changes.at(-1)).toEqual({
      ...CALLER,
      change: 'event_type_replaced',
      eventType: 'order.created',
      changed,
    });
  });

  it('needs nothing besides the name', async ({ call }) => {
    expect((await call('PUT', `${TYPES}/a-b_c.D.1`)).status).toBe(201);
  });

  it.for<[body: object, field: string]>([
    [{ title: 'x' }, 'title'],
    [{ description: 'x'.repeat(1001) }, 'description'],
    [{ description: 'a\u001b[31mb' }, 'description'],
    [{ description: 'half a character: \ud800' }, 'description'],
    [{ schema: { type: Array.from({ length: 8 }, () => 'null') } }, 'schema.type'],
    [{ group: '' }, 'group'],
    [{ group: 'x'.repeat(129) }, 'group'],
    [{ deprecated: 'yes' }, 'deprecated'],
    [{ queues: ['a b'] }, 'queues[0]'],
    [{ queues: Array.from({ length: 101 }, (_, at) => `q-${at}`) }, 'queues'],
    [{ schema: true }, 'schema'],
    [{ schema: { description: 'x'.repeat(16_384) } }, 'schema'],
    [{ schema: nested(32) }, 'schema'],
    [{ schema: { properties: { a: { pattern: '(?=a)' } } } }, 'schema.properties.a.pattern'],
    [{ schema: { $ref: 'https://schemas.example/order.json' } }, 'schema.$ref'],
    [{ schema: FULL.schema, example: { total: '1250' } }, 'example/total'],
    [{ schema: HOSTILE, example: 1 }, 'schema'],
    [{ example: 'x'.repeat(16_384) }, 'example'],
    [{ example: nested(32) }, 'example'],
  ])('refuses %j', async ([body, field], { call, get }) => {
    expect(await call('PUT', CREATED, body)).toMatchObject(invalid(field));
    expect(await get(TYPES)).toEqual({ event_types: [], links: [] });
  });

  it('names the types that a schema can have where it has none', async ({ call }) => {
    const { body } = await call('PUT', CREATED, { schema: { type: [] } });
    expect(JSON.stringify(body)).toContain('must be a type, or a list of types: null, boolean, object');
  });

  it('refuses a schema with the name __proto__, which would be dropped', async ({ call }) => {
    const body = '{"schema": {"__proto__": {"type": "object"}}}';
    expect(await call('PUT', CREATED, body)).toMatchObject(invalid('schema'));
  });

  it.for<[body: string, field: string]>([
    ['{"schema": {"const": 1e400}}', 'schema'],
    ['{"schema": {"properties": {"a": {"enum": [1, -1e400]}}}}', 'schema'],
    ['{"example": {"total": 1e400}}', 'example'],
  ])(
    'refuses a number beyond double precision, for which null would be stored: %s',
    async ([body, field], { call, get }) => {
      expect(await call('PUT', CREATED, body)).toMatchObject(invalid(field));
      expect(await get(TYPES)).toEqual({ event_types: [], links: [] });
    },
  );

  it.for(['order..created', '.order', 'order.', 'a%20b', 'a%2Fb', 'x'.repeat(129)])(
    'refuses the name %s',
    async (name, { call }) => {
      expect(await call('PUT', `${TYPES}/${name}`, {})).toMatchObject(invalid('type'));
      expect(await call('GET', `${TYPES}/${name}`)).toMatchObject(refusal('not_found'));
      expect(await call('DELETE', `${TYPES}/${name}`)).toMatchObject(refusal('not_found'));
    },
  );
});

describe('DELETE /v2/event-types/{type}', () => {
  it('deletes a type, and is repeatable', async ({ call, changes }) => {
    await call('PUT', CREATED, FULL);
    for (let times = 0; times < 2; times += 1) expect((await call('DELETE', CREATED)).status).toBe(204);
    expect(await call('GET', CREATED)).toMatchObject(refusal('not_found'));
    expect(changes.map(({ change }) => change)).toEqual(['event_type_created', 'event_type_deleted']);
  });
});

describe('the types that a queue sees', () => {
  it('are those without queues, and those that name it', async ({ call, pages }) => {
    const queues = { 'a.all': undefined, 'b.bills': ['bills'], 'c.orders': ['orders'], 'd.none': [] };
    for (const [name, given] of Object.entries(queues))
      await call('PUT', `${TYPES}/${name}`, given && { queues: given });
    expect(await pages(`${OF_ORDERS}?limit=1`, 'event_types', 'name')).toEqual([['a.all'], ['c.orders']]);
    expect(await pages(`${TYPES}?limit=3`, 'event_types', 'name')).toEqual([
      ['a.all', 'b.bills', 'c.orders'],
      ['d.none'],
    ]);
    for (const [name, status] of [['a.all', 200] as const, ['b.bills', 404] as const, ['x', 404] as const])
      expect((await call('GET', `${OF_ORDERS}/${name}`)).status).toBe(status);
  });

  it('do not name the other queues that see them, which can be those of other tenants', async ({
    call,
    get,
  }) => {
    await call('PUT', CREATED, { queues: ['orders', 'acme'] });
    for (const path of [OF_ORDERS, `${OF_ORDERS}?detailed=false`, `${OF_ORDERS}/order.created`])
      expect(JSON.stringify(await get(path))).not.toContain('acme');
    expect(await get(CREATED)).toMatchObject({ queues: ['orders', 'acme'] });
  });

  it.for([TYPES, OF_ORDERS])(
    'are listed without schemas and examples, if asked: %s',
    async (path, { call, get }) => {
      for (const name of ['a', 'b']) await call('PUT', `${TYPES}/${name}`, FULL);
      const { schema: _schema, example: _example, queues, ...rest } = FULL;
      const times = { created_at: NOON_TEXT, changed_at: NOON_TEXT };
      const view = { ...rest, ...(path === TYPES && { queues }), ...times };
      const next = `${path}?limit=1&detailed=false&marker=`;
      const found = z
        .object({
          event_types: z.unknown(),
          links: z.tuple([z.object({ href: z.string().startsWith(next) })]),
        })
        .parse(await get(`${path}?limit=1&detailed=false`));
      expect(found.event_types).toEqual([{ name: 'a', ...view }]);
      expect(await get(found.links[0].href)).toEqual({ event_types: [{ name: 'b', ...view }], links: [] });
      expect(await get(`${path}?limit=1&detailed=True`)).toEqual(await get(`${path}?limit=1`));
      expect(await call('GET', `${path}?detailed=no`)).toMatchObject(invalid('detailed'));
    },
  );

  it('are not shown for a queue that does not exist', async ({ call }) => {
    for (const path of ['/v2/queues/none/event-types', '/v2/queues/none/event-types/order.created'])
      expect(await call('GET', path)).toMatchObject(refusal('not_found'));
  });
});

describe('a subscription to a type that the catalogue does not show to its queue', () => {
  const warned = ['order.crated', 'bill.sent', 'free text'].map((name, index) => ({
    field: `options.event_types[${index + 1}]`,
    message: `names ${name}, which is no event type that the queue sees`,
  }));
  const options = { event_types: ['order.created', 'order.crated', 'bill.sent', 'free text'] };

  it('is created and changed, with a warning', async ({ call, subscribe, patch, stored }) => {
    await call('PUT', CREATED, {});
    await call('PUT', `${TYPES}/bill.sent`, { queues: ['bills'] });
    const { status, body } = await subscribe({ options });
    expect({ status, body }).toMatchObject({ status: 201, body: { warnings: warned } });
    expect((await stored()).options).toEqual(options);
    expect(await patch({ options })).toMatchObject({ status: 200, body: { warnings: warned } });
  });

  it('is not warned of where there is nothing to warn of', async ({ call, subscribe, patch }) => {
    const none = expect.not.objectContaining({ warnings: expect.anything() as unknown }) as unknown;
    expect((await subscribe({ options })).body).toEqual(none);
    await call('PUT', CREATED, {});
    expect((await patch({ name: 'ACME' })).body).toEqual(none);
    expect((await patch({ options: { event_types: ['order.created'] } })).body).toEqual(none);
    expect((await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/2` })).body).toEqual(none);
    expect((await call('GET', ONE)).body).toEqual(none);
  });
});

describe('a catalogue of 1,000 types with schemas of 16 KiB', () => {
  it('is listed in answers of about 1 MB, for all and for one queue', async ({ api, pages }) => {
    await fill(api);
    for (const path of [TYPES, OF_ORDERS]) {
      const found = await pages(`${path}?limit=100`, 'event_types', 'name');
      expect(found.flat()).toHaveLength(path === TYPES ? 1_000 : 500);
      expect(found.flat()).toEqual(found.flat().toSorted());
      expect(found.length).toBeLessThan(20);
      expect(Buffer.byteLength(await api.text('GET', `${path}?limit=100`))).toBeLessThan(1.1e6);
    }
  });

  it('is too large for one document, which the API refuses without an error', async ({
    api,
    call,
    faults,
  }) => {
    await fill(api);
    expect(await call('GET', '/v2/webhooks.json')).toMatchObject(refusal('too_large'));
    expect(faults).toEqual([]);
  });

  const fill = async ({ eventTypes }: Pick<Api, 'eventTypes'>) => {
    const schema = { description: 'x'.repeat(16_300) };
    for (let at = 0; at < 1_000; at += 1)
      await eventTypes.put(
        anEventType({
          name: `type-${String(at).padStart(4, '0')}`,
          schema,
          queues: at % 2 ? ['orders'] : [],
        }),
      );
  };
});

describe('GET /v2/webhooks.json', () => {
  it('describes all types, over the pages of the catalogue', async ({ call, get }) => {
    const large = { schema: { description: 'x'.repeat(16_000) } };
    for (let at = 0; at < 150; at += 1) await call('PUT', `${TYPES}/type-${at}`, large);
    const names = Array.from({ length: 150 }, (_, at) => `type-${at}`).toSorted();
    const { webhooks } = z
      .object({ webhooks: z.record(z.string(), z.unknown()) })
      .parse(await get('/v2/webhooks.json'));
    expect(Object.keys(webhooks).toSorted()).toEqual(names);
  });
});
