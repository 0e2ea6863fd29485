import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import * as z from 'zod';
import { apiUnderTest, NOON, PUBLIC_URL } from '../unit/api/api-under-test.ts';
import { recordAll, recordMessage } from '../unit/api/recorded.ts';
import { wholeApi } from '../support/whole-api.ts';
import { anything, nasty, nearly, nearlyRecord } from './input.ts';
import { target, type Target } from './target.ts';

const SECRET = 'planted-s3cret';

const documentSchema = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });

/** The API on in-memory ports, with a queue and a subscription that has credentials. */
const world = async () => {
  const api = apiUnderTest();
  await api.call('PUT', '/v2/queues/orders', {});
  await api.call('POST', '/v2/queues/orders/subscriptions', {
    subscriber: 'https://a.example/',
    options: {
      post_headers: { authorization: SECRET },
      auth: { type: 'basic', username: 'a', password: SECRET },
    },
  });
  await recordMessage(api, { messageId: 'message-1', acceptedAt: NOON - 1_000 });
  await recordAll(api, [{ messageId: 'message-1', subscriptionId: 'id-1', status: 'exhausted' }]);
  const { paths } = documentSchema.parse((await api.call('GET', '/v2/openapi.json')).body);
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ path, method: method.toUpperCase() })),
  );
  return { api, whole: wholeApi(api.dependencies), routes };
};

const segment = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('orders', 'id-1', 'message-1') },
  { weight: 1, arbitrary: nasty },
);

const subscription = nearlyRecord({
  subscriber: fc.oneof(nearly(['https://a.example/', 'pull:', 'http://10.0.0.1/']), nasty),
  name: nasty,
  ttl: fc.nat(),
  options: nearlyRecord({
    raw_delivery: fc.boolean(),
    post_data: nasty,
    post_headers: fc.dictionary(fc.oneof(nasty, fc.constant('x-a')), nasty),
    filter: anything,
    event_types: fc.array(nasty),
    _retry_policy: anything,
    max_per_second: fc.double(),
    auth: nearlyRecord({
      type: fc.constantFrom('header', 'basic', 'mtls', 'oauth2_client_credentials'),
      name: nasty,
      value: nasty,
      username: nasty,
      password: nasty,
      token_url: nasty,
      certificate: nasty,
    }),
  }),
});

const body = fc.oneof(
  anything.map((value) => JSON.stringify(value)),
  subscription.map((value) => JSON.stringify(value)),
  fc
    .array(subscription, { maxLength: 5 })
    .map((lines) => lines.map((line) => JSON.stringify(line)).join('\n')),
  fc
    .array(nearlyRecord({ op: fc.constantFrom('add', 'replace', 'remove'), path: nasty, value: anything }))
    .map((patch) => JSON.stringify(patch)),
  fc
    .record({ messages: fc.array(nearlyRecord({ body: anything, ttl: fc.nat(), id: nasty })) })
    .map((sent) => JSON.stringify(sent)),
  nasty,
);

type Route = { path: string; method: string };

const requestTo = (routes: readonly Route[]) =>
  fc.record({
    route: fc.constantFrom(...routes),
    segments: fc.array(segment, { minLength: 4, maxLength: 4 }),
    query: fc.dictionary(
      fc.constantFrom(
        'limit',
        'marker',
        'since',
        'until',
        'status',
        'deleted',
        'replace',
        'step',
        'type',
        'x',
      ),
      nasty,
    ),
    body,
    authorization: fc.option(nasty, { nil: undefined }),
  });

type FuzzedRequest = ReturnType<typeof requestTo> extends fc.Arbitrary<infer Given> ? Given : never;

const ROUTE_OF_CREDENTIALS = '/v2/credentials/{queue}';

/** Deletions are left out, so that there is something to work on. */
const isTried = ({ method, path }: Route): boolean => method !== 'DELETE' && path !== '/v2/openapi.json';

type World = Awaited<ReturnType<typeof world>>;

const check = async (
  { api, whole }: World,
  { route: { path, method }, segments, query, body: sent, authorization }: FuzzedRequest,
): Promise<void> => {
  let at = 0;
  const filled = path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(wellFormed(segments[at++ % 4] ?? '')));
  const url = new URL(`https://api.invalid${filled}`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const headers = authorization === undefined ? {} : { authorization: headerText(authorization) };
  const init = { method, headers, ...(method === 'GET' ? {} : { body: Buffer.from(sent) }) };
  const caller = { principal: 'fuzz', requestId: 'r' };
  const response = await whole.fetch(new Request(url, init), { caller, publicUrl: PUBLIC_URL });
  const text = await response.text();
  const fault = String(api.faults.splice(0)[0]?.fault.stack);
  assert(response.status < 500 || path === '/v2/health', `${response.status} ${fault}`);
  if (path !== ROUTE_OF_CREDENTIALS) assert(!text.includes(SECRET), 'a secret is in the answer');
  assert(!JSON.stringify(api.changes.splice(0)).includes(SECRET), 'a secret is in the audit trail');
  if (response.status >= 400) assert(!/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(text), 'a refusal is not printable');
};

/** Every route with requests that are nearly valid, on new tables for each round. */
export const routeTarget: Target = {
  name: 'routes of the API',
  weight: 3,
  run: async (options) => {
    const made = await world();
    const input = requestTo(made.routes.filter(isTried));
    return target(routeTarget.name, input, (given) => check(made, given)).run(options);
  },
};

const wellFormed = (text: string): string => text.toWellFormed();

/** What fetch accepts as the value of a header. */
const headerText = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '').trim();
