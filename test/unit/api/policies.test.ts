import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { wholeApi } from '../../support/whole-api.ts';
import { answerHttpApi } from '../../../functions/api/http-api-event.ts';
import { apiUnderTest } from './api-under-test.ts';

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'PATCH', 'DELETE', 'OPTIONS'];

const policySchema = z.object({
  Statement: z.array(
    z.object({
      Effect: z.literal('Allow'),
      Action: z.literal('execute-api:Invoke'),
      Resource: z.array(z.string()),
    }),
  ),
});

/** The policy in docs/api.md that allows everything for the queue `orders`, and nothing for others. */
const documented = policySchema.parse(
  JSON.parse(
    /^```json\n(\{\n {2}"Version".*?)```/ms.exec(
      readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8'),
    )?.[1] ?? '',
  ),
);

/** Matches like IAM: `*` is any text, including slashes ("IAM JSON policy elements: Resource", IAM user guide). */
const isAllowed = (method: string, rawPath: string): boolean => {
  const resource = `arn:aws:execute-api:us-east-1:111122223333:abcdefghij/$default/${method}${rawPath}`;
  return documented.Statement.some(({ Resource }) =>
    Resource.some((pattern) =>
      new RegExp(`^${pattern.replaceAll(/[.$]/g, String.raw`\$&`).replaceAll('*', '.*')}$`).test(resource),
    ),
  );
};

/** The path as an HTTP API passes it on: decoded, and cut at a decoded question mark. */
const passedOn = (rawPath: string): string => decodeURIComponent(rawPath).split('?')[0] ?? '';

/** Other spellings of a path, and paths disguised as paths of `orders`. */
const spellings = (path: string): string[] => {
  const segments = path.split('/').slice(1);
  const encoded = segments.map((segment, index) =>
    segments.with(index, `%${segment.charCodeAt(0).toString(16)}${segment.slice(1)}`).join('/'),
  );
  const joined = segments.slice(1).map((_, index) => {
    const [before, after] = [segments.slice(0, index + 1), segments.slice(index + 1)];
    return `${before.join('/')}%2f${after.join('/')}`;
  });
  const suffixes = ['orders', 'queues/orders', 'v2/queues/orders'];
  return [
    path,
    `${path}/`,
    `/${path}`,
    ...encoded.map((spelling) => `/${spelling}`),
    ...joined.map((spelling) => `/${spelling}`),
    ...suffixes.flatMap((suffix) =>
      ['%3f/', '%23/', '%5c/', '/', '%2f'].map((glue) => `${path}${glue}${suffix}/x`),
    ),
    ...['..', '%2e%2e', '.%2e', '%252e%252e'].flatMap((up) => [
      `/v2/queues/orders/${up}/${segments.slice(2).join('/')}`,
      `/v2/queues/orders%2f${up}%2f${segments.slice(2).join('%2f')}`,
      `/v2/queues/orders/${up}/${up}/${segments.slice(1).join('/')}`,
      `/v2/queues/orders/${up}/${up}/${up}${path}`,
    ]),
  ];
};

const pathsOf = async (queue: string): Promise<string[]> => {
  const { body } = await apiUnderTest().call('GET', '/v2/openapi.json');
  const { paths } = z.object({ paths: z.record(z.string(), z.unknown()) }).parse(body);
  return Object.keys(paths).map((path) => path.replace('{queue}', queue).replaceAll(/\{\w+\}/g, 'id-1'));
};

/** An API that reports which calls accessed this queue or exported credentials. */
const observedApi = async (queue: string) => {
  const { call, dependencies } = apiUnderTest();
  for (const name of ['orders', queue])
    await call('POST', `/v2/queues/${name}/subscriptions`, { subscriber: 'https://hooks.example/' });
  const touched: string[] = [];
  const observed = <T extends object>(part: T): T =>
    new Proxy(part, {
      get: (target, name, receiver) => {
        const value: unknown = Reflect.get(target, name, receiver);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          if (JSON.stringify(args).includes(queue)) touched.push(String(name));
          return Reflect.apply(value, target, args);
        };
      },
    });
  const { registry, messageRecords, deliveryListings, recoveries, ingress, operations } = dependencies;
  const api = wholeApi({
    ...dependencies,
    registry: observed(registry),
    messageRecords: observed(messageRecords),
    deliveryListings: observed(deliveryListings),
    recoveries: observed(recoveries),
    ingress: observed(ingress),
    operations: observed(operations),
    audit: (_, change) => {
      if (change.change === 'credentials_exported') touched.push(change.change);
    },
  });
  const touchedBy = async (method: string, rawPath: string): Promise<string[]> => {
    touched.length = 0;
    const requestContext = { requestId: 'r', http: { method } };
    await answerHttpApi(api, { rawPath: passedOn(rawPath), body: '{}', requestContext });
    return [...touched];
  };
  return { touchedBy };
};

describe('the documented policy for one queue', () => {
  it('allows its routes', async () => {
    const ofOrders = (await pathsOf('orders')).filter((path) => path.startsWith('/v2/queues/orders'));
    expect(ofOrders.length).toBeGreaterThan(15);
    expect(ofOrders.filter((path) => !isAllowed('GET', path))).toEqual([]);
  });

  it('gives no access to other queues or to credentials, with any spelling of a path', async () => {
    const { touchedBy } = await observedApi('victim');
    const paths = [...(await pathsOf('victim')), ...(await pathsOf('orders'))];
    const passed: string[] = [];
    let allowed = 0;
    for (const rawPath of new Set(paths.flatMap(spellings))) {
      for (const method of METHODS.filter((one) => isAllowed(one, rawPath))) {
        allowed += 1;
        const touched = await touchedBy(method, rawPath);
        if (touched.length > 0) passed.push(`${method} ${rawPath}: ${touched.join(', ')}`);
      }
    }
    expect(allowed).toBeGreaterThan(1_000);
    expect(passed).toEqual([]);
  });

  it('is tested with calls whose access would be detected', async () => {
    const { touchedBy } = await observedApi('victim');
    expect(await touchedBy('GET', '/v2/queues/vic%74im')).toEqual(['findQueue']);
    expect(await touchedBy('GET', '/v2/queues/victim/export%3f/v2/queues/orders/x')).toContain('findQueue');
    expect(await touchedBy('POST', '/v2/credentials/orders')).toContain('credentials_exported');
  });
});

describe('the id of a subscription of another queue', () => {
  it('finds nothing below the own queue, and changes nothing', async () => {
    const { call, registry } = apiUnderTest();
    await call('PUT', '/v2/queues/orders', {});
    await call('POST', '/v2/queues/victim/subscriptions', { subscriber: 'https://victim.example/' });
    const { items: before } = await registry.listSubscriptions('victim', { limit: 1 });
    const own = (await pathsOf('orders')).filter((path) => path.includes('/orders/subscriptions/id-1'));
    const statuses = new Set<number>();
    for (const path of own)
      for (const method of METHODS.filter((one) => one !== 'HEAD')) {
        const { status, body } = await call(method, path, method === 'GET' ? undefined : {});
        statuses.add(status);
        expect(JSON.stringify(body ?? '')).not.toContain('victim.example');
      }
    // 204: a deletion is idempotent.
    expect(statuses).toEqual(new Set([204, 400, 404, 405]));
    expect((await registry.listSubscriptions('victim', { limit: 1 })).items).toEqual(before);
  });
});

describe('a grant for paths below a queue', () => {
  it('does not allow deleting the queue with a trailing slash', async () => {
    const { touchedBy } = await observedApi('victim');
    expect(await touchedBy('DELETE', '/v2/queues/victim')).toContain('deleteQueue');
    expect(await touchedBy('DELETE', '/v2/queues/victim/')).toEqual([]);
    expect(await touchedBy('DELETE', '/v2/queues/victim%2f')).toEqual([]);
  });
});
