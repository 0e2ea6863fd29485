import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import * as z from 'zod';
import { receiptText } from '../../functions/api/pull/answer.ts';
import { anything, nasty, nearly, nearlyRecord } from './input.ts';
import { auth, filter, policy } from './parsers.ts';

/** Planted in the subscription that each API under test has. */
export const SECRET = 'planted-s3cret';

/** What the requests name: a queue, its subscription, and a message of the queue. */
export const NAMES = { queue: 'orders', subscription: 'id-1', message: 'message-1' } as const;

export const SUBSCRIPTION = {
  subscriber: 'https://a.example/',
  options: {
    post_headers: { 'x-api-key': SECRET },
    auth: { type: 'basic', username: 'a', password: SECRET },
  },
} as const;

export type Route = { path: string; method: string };

export type FuzzedRequest = {
  route: Route;
  segments: readonly string[];
  query: Record<string, string>;
  body: string;
  authorization?: string | undefined;
};

const documentSchema = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });

/** The routes in the OpenAPI document. Deletions by a caller are left out, so that there is something to work on. */
export const routesIn = (document: unknown): readonly Route[] =>
  Object.entries(documentSchema.parse(document).paths)
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ path, method: method.toUpperCase() })),
    )
    .filter(({ path, method }) => method !== 'DELETE' && path !== '/v2/openapi.json');

/** Requests to these routes, most of them with a body of the kind that the route takes. */
export const requestsTo = (routes: readonly Route[]): fc.Arbitrary<FuzzedRequest> =>
  fc.constantFrom(...routes).chain((route) =>
    fc.record({
      route: fc.constant(route),
      segments: fc.tuple(...[...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => segment(name ?? ''))),
      query: fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, { weight: 3, arbitrary: query }),
      body: fc.oneof({ weight: 6, arbitrary: bodyOf(route) }, { weight: 1, arbitrary: strayBody }),
      authorization: fc.option(nasty, { nil: undefined }),
    }),
  );

const segment = (name: string): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 9, arbitrary: fc.constant(name in NAMES ? NAMES[name as keyof typeof NAMES] : 'id-1') },
    { weight: 1, arbitrary: nasty },
  );

const query = fc.dictionary(
  fc.constantFrom('limit', 'marker', 'since', 'until', 'status', 'deleted', 'replace', 'step', 'type', 'x'),
  fc.oneof(
    fc.constantFrom('1', '100', 'true', 'delivered', 'exhausted', '2026-11-21T00:00:00Z', 'order.paid'),
    nasty,
  ),
  { minKeys: 1, maxKeys: 3 },
);

const text = fc.string({ minLength: 1, maxLength: 20 });

export const subscription = nearlyRecord({
  subscriber: fc.oneof(
    { weight: 5, arbitrary: fc.nat(99).map((place) => `https://a.example/${place}`) },
    nearly(['https://a.example/', 'pull:', 'pull:x', 'http://10.0.0.1/']),
  ),
  name: fc.oneof({ weight: 5, arbitrary: text }, nasty),
  ttl: fc.integer({ min: 60, max: 100_000 }),
  options: nearlyRecord({
    raw_delivery: fc.boolean(),
    post_data: fc.oneof(nearly(['{"m": $zaqar_message$}']), nasty),
    post_headers: fc.dictionary(fc.constantFrom('x-a', 'x-b', 'host'), text),
    filter: fc.record({ data: filter }),
    event_types: fc.array(text, { minLength: 1, maxLength: 3 }),
    _retry_policy: policy,
    max_per_second: fc.constantFrom(0.5, 1, 100),
    auth,
  }),
});

const jsonOf = (value: fc.Arbitrary<unknown>): fc.Arbitrary<string> =>
  value.map((one) => JSON.stringify(one));

export const lines = fc
  .array(subscription, { maxLength: 5 })
  .map((all) => all.map((one) => JSON.stringify(one)).join('\n'));

const message = nearlyRecord({
  body: anything,
  ttl: fc.integer({ min: 60, max: 1_000 }),
  id: text,
  type: text,
});

const patch = fc.array(
  nearlyRecord({
    op: fc.constantFrom('add', 'replace', 'remove'),
    path: fc.constantFrom('/metadata/a', '/metadata/_retry_policy', '/metadata/ä~1/b', '/x'),
    value: anything,
  }),
  { maxLength: 3 },
);

const receipts = fc.record({
  receipt: nearly([
    receiptText({
      key: { queue: 'orders', messageId: 'message-1', subscriptionId: 'id-1', bucket: 0 },
      attempt: 1,
      owner: 'pull/x',
    }),
  ]),
});

const time = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('2026-11-21T11:00:00Z', '2026-11-21T14:00:00+01:00') },
  nearly(['2026-11-20T12:00:00.000Z']),
);

/** The last words of a path, and the bodies that its routes take. */
const BODIES: readonly [RegExp, fc.Arbitrary<string>][] = [
  [
    /\/queues\/\{queue\}$/,
    fc.oneof(jsonOf(nearlyRecord({ a: anything, _retry_policy: policy })), jsonOf(patch)),
  ],
  [/\/subscriptions(?:\/\{subscription\})?$/, jsonOf(subscription)],
  [/\/import$/, lines],
  [/\/messages$/, jsonOf(fc.record({ messages: fc.array(message, { minLength: 1, maxLength: 4 }) }))],
  [/\/(?:ack|nack)$/, jsonOf(receipts)],
  [/\/receive$/, jsonOf(nearlyRecord({ limit: fc.integer({ min: 1, max: 10 }) }))],
  [/\/rotate$/, jsonOf(nearlyRecord({ secret: nearly(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw']) }))],
  [/\/recoveries$/, jsonOf(nearlyRecord({ since: time, until: time, status: fc.constant('exhausted') }))],
];

const bodyOf = ({ path }: Route): fc.Arbitrary<string> =>
  BODIES.find(([words]) => words.test(path))?.[1] ?? fc.constantFrom('', '{}');

const strayBody = fc.oneof(jsonOf(anything), jsonOf(subscription), lines, jsonOf(patch), nasty);

/** What `fetch` takes, with the path filled in. `names`: what this API has in place of a name or a text in the requests. */
export const requestOf = (
  { route: { path, method }, segments, query: search, body, authorization }: FuzzedRequest,
  base: string,
  names: ReadonlyMap<string, string> = new Map(),
): { url: URL; init: { method: string; headers: Record<string, string>; body?: string } } => {
  let at = 0;
  const filled = path.replaceAll(/\{\w+\}/g, () => {
    const given = segments[at++] ?? '';
    return encodeURIComponent((names.get(given) ?? given).toWellFormed());
  });
  const url = new URL(`${base}${filled}`);
  for (const [name, given] of Object.entries(search)) url.searchParams.set(name, given.toWellFormed());
  return {
    url,
    init: {
      method,
      headers: authorization === undefined ? {} : { authorization: headerText(authorization) },
      ...(method === 'GET' ? {} : { body: renamed(body, names) }),
    },
  };
};

export const renamed = (text: string, names: ReadonlyMap<string, string>): string =>
  [...names].reduce((before, [name, other]) => before.replaceAll(name, () => other), text);

/** What fetch accepts as the value of a header. */
const headerText = (given: string): string => given.replaceAll(/[^\x20-\x7e]/g, '').trim();

const OPENS_SECRETS = '/v2/credentials/{queue}';

/** Whether the request was accepted. @throws AssertionError if no answer may be like this */
export const checkAnswer = (
  { route: { path } }: FuzzedRequest,
  status: number,
  answered: string,
): boolean => {
  assert(status < 500 || path === '/v2/health', `${status} ${answered.slice(0, 200)}`);
  if (path !== OPENS_SECRETS) assert(!answered.includes(SECRET), 'a secret is in the answer');
  if (status >= 400) assert(!/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(answered), 'a refusal is not printable');
  return status < 400;
};

/** Calls the API; the answer as JSON. */
export type Call = (method: string, path: string) => Promise<unknown>;

const createdSchema = z.object({ subscription_id: z.string() });

const viewSchema = z.looseObject({ options: z.record(z.string(), z.unknown()) });

/** What a request for a new queue or subscription set is what the API shows afterwards. `called`: its path. */
export const checkStored = async (
  { route: { method, path } }: FuzzedRequest,
  { called, body = '{}', answered }: { called: string; body: string | undefined; answered: string },
  call: Call,
): Promise<void> => {
  if (method === 'PUT' && path === '/v2/queues/{queue}') {
    const shown = z.record(z.string(), z.unknown()).parse(await call('GET', called));
    assertShown(JSON.parse(body || '{}'), shown);
  }
  if (method === 'POST' && path.endsWith('/subscriptions')) {
    const { subscription_id } = createdSchema.parse(JSON.parse(answered));
    const shown = viewSchema.parse(await call('GET', `${called}/${subscription_id}`));
    const { options, ...fields } = sentSchema.parse(JSON.parse(body));
    // Credentials are shown as ***.
    const { auth: _, post_headers: __, ...others } = options;
    assertShown(fields, shown);
    assertShown(others, shown.options);
  }
};

/** Each type is shown once. */
const eventTypes = z.array(z.string()).transform((types) => [...new Set(types)]);

const sentSchema = z.looseObject({
  options: z.looseObject({ event_types: eventTypes.exactOptional() }).default({}),
});

const assertShown = (sent: unknown, shown: Readonly<Record<string, unknown>>): void => {
  for (const [name, value] of Object.entries(z.record(z.string(), z.unknown()).parse(sent)))
    assert.deepEqual(shown[name], value, `${name} is not what was sent`);
};
