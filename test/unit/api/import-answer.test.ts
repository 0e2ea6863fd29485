import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { ApiDependencies } from '../../../functions/api/dependencies.ts';
import { secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import { MAX_SUBSCRIPTIONS_PER_TRANSACTION, QueueMissingError } from '../../../shared/ports/subscriptions.ts';
import { apiUnderTest, faultOf } from './api-under-test.ts';

const IMPORT = '/v2/queues/orders/import';
const SUBSCRIPTIONS = '/v2/queues/orders/subscriptions';

const aSecret: unknown = expect.stringMatching(/^whsec_/);

const answerSchema = z.object({
  imported: z.number(),
  subscriptions: z.array(z.object({ line: z.number(), secret: z.string().optional() })),
  failed: z.array(z.object({ line: z.number() })),
});

const hook = (name: string | number): string => `https://hooks.example/${name}`;

const lines = (...subscriptions: unknown[]): string =>
  subscriptions.map((one) => `${JSON.stringify(one)}\n`).join('');

const numbered = (count: number): string =>
  lines(...Array.from({ length: count }, (_, index) => ({ subscriber: hook(index + 1) })));

/** The API on a registry some of whose methods are replaced. */
const withRegistry = (
  replace: (registry: ApiDependencies['registry']) => Partial<ApiDependencies['registry']>,
) => {
  const { registry } = apiUnderTest();
  return apiUnderTest({ registry: { ...registry, ...replace(registry) } });
};

describe('the response to an import', () => {
  it('names each subscription by its line, and contains the secret of a new one only once', async () => {
    const { call, registry, secrets } = apiUnderTest();
    await call('POST', SUBSCRIPTIONS, { subscriber: hook('there') });
    await call('POST', SUBSCRIPTIONS, { subscriber: hook('changed') });
    const body = [
      { subscriber: hook('new') },
      { subscriber: hook('there') },
      { subscriber: hook('changed'), ttl: 60 },
    ];
    const answer = await call('POST', `${IMPORT}?replace=true`, `\n${lines(...body)}`);
    expect(answer).toMatchObject({
      status: 200,
      body: {
        subscriptions: [
          { line: 2, result: 'imported', subscription_id: 'id-3', secret: aSecret },
          { line: 3, result: 'unchanged', subscription_id: 'id-1' },
          { line: 4, result: 'replaced', subscription_id: 'id-2' },
        ],
        failed: [],
      },
    });
    const [imported, ...others] = answerSchema.parse(answer.body).subscriptions;
    expect(others.filter(({ secret }) => secret !== undefined)).toEqual([]);
    const [sealed] = (await registry.findSubscription('orders', 'id-3'))?.secrets ?? [];
    const opened = await secrets.open({ queue: 'orders', subscriptionId: 'id-3' }, sealed?.sealed ?? '');
    expect(secretText(opened)).toBe(imported?.secret);

    expect((await call('POST', IMPORT, lines(...body))).body).toEqual({
      imported: 0,
      replaced: 0,
      unchanged: 3,
      subscriptions: [
        { line: 1, result: 'unchanged', subscription_id: 'id-3' },
        { line: 2, result: 'unchanged', subscription_id: 'id-1' },
        { line: 3, result: 'unchanged', subscription_id: 'id-2' },
      ],
      failed: [],
    });
  });

  it('shows for each subscription whether its subscriber is asked to confirm', async () => {
    const { call } = apiUnderTest();
    await call('PUT', '/v2/queues/orders', { _confirm_subscriptions: true });
    expect((await call('POST', IMPORT, numbered(1))).body).toMatchObject({
      subscriptions: [{ line: 1, secret: aSecret, confirmation: 'asked' }],
    });
  });

  it('refuses only the line whose subscriber another request has added', async () => {
    const { call } = withRegistry(() => ({
      findByDestinations: (_queue, destinations) => Promise.resolve(destinations.map(() => undefined)),
    }));
    await call('POST', SUBSCRIPTIONS, { subscriber: hook(2) });
    expect((await call('POST', IMPORT, numbered(3))).body).toMatchObject({
      subscriptions: [
        { line: 1, secret: aSecret },
        { line: 3, secret: aSecret },
      ],
      failed: [{ line: 2, ...faultOf('conflict', 'subscriber') }],
    });
  });

  it('refuses lines if the queue is deleted during the import', async () => {
    const { call, faults } = withRegistry(() => ({
      addSubscriptions: () => Promise.reject(new QueueMissingError('orders')),
    }));
    expect(await call('POST', IMPORT, numbered(2))).toMatchObject({
      status: 200,
      body: {
        failed: [
          { line: 1, ...faultOf('conflict') },
          { line: 2, ...faultOf('conflict') },
        ],
      },
    });
    expect(faults).toEqual([]);
  });
});

describe('an import that an internal error interrupts', () => {
  const COUNT = MAX_SUBSCRIPTIONS_PER_TRANSACTION + 11;

  it('returns the secrets of the lines before the error and names the others; a repeat continues there', async () => {
    let calls = 0;
    const outage = new Error('throttled');
    const api = withRegistry((registry) => ({
      addSubscriptions: (given) => {
        calls += 1;
        return calls === 2 ? Promise.reject(outage) : registry.addSubscriptions(given);
      },
    }));
    const cut = await api.call('POST', IMPORT, numbered(COUNT));
    expect(cut.status).toBe(200);
    const { subscriptions, failed } = answerSchema.parse(cut.body);
    expect(subscriptions.map(({ line }) => line)).toEqual(
      Array.from({ length: MAX_SUBSCRIPTIONS_PER_TRANSACTION }, (_, index) => index + 1),
    );
    expect(subscriptions.filter(({ secret }) => secret === undefined)).toEqual([]);
    expect(failed.map(({ line }) => line)).toEqual(
      Array.from({ length: 11 }, (_, index) => MAX_SUBSCRIPTIONS_PER_TRANSACTION + index + 1),
    );
    expect(cut.body).toMatchObject({ failed: failed.map(({ line }) => ({ line, ...faultOf('internal') })) });
    expect(api.faults.map(({ fault }) => fault)).toEqual([outage]);
    expect(api.changes).toHaveLength(MAX_SUBSCRIPTIONS_PER_TRANSACTION);
    expect((await api.call('POST', IMPORT, numbered(COUNT))).body).toMatchObject({
      imported: 11,
      unchanged: MAX_SUBSCRIPTIONS_PER_TRANSACTION,
      failed: [],
    });
  });

  it('processes no further lines', async () => {
    let asked = 0;
    const api = withRegistry(() => ({
      findByDestinations: () => {
        asked += 1;
        return Promise.reject(new Error('throttled'));
      },
    }));
    await api.call('POST', IMPORT, numbered(3 * MAX_SUBSCRIPTIONS_PER_TRANSACTION));
    expect(asked).toBe(1);
  });

  it('imports the other lines of a chunk if one secret cannot be sealed', async () => {
    const { secrets } = apiUnderTest();
    let sealed = 0;
    const seal = (...given: Parameters<typeof secrets.seal>) => {
      sealed += 1;
      return sealed === 2 ? Promise.reject(new Error('KMS does not respond')) : secrets.seal(...given);
    };
    const { call } = apiUnderTest({ secretSealer: { ...secrets, seal } });
    expect((await call('POST', IMPORT, numbered(3))).body).toMatchObject({
      subscriptions: [{ line: 1 }, { line: 3 }],
      failed: [{ line: 2, ...faultOf('internal') }],
    });
  });

  it('has the changes before the error on the audit trail', async () => {
    let fails = false;
    const api = withRegistry((registry) => ({
      addSubscriptions: (given) =>
        fails ? Promise.reject(new Error('throttled')) : registry.addSubscriptions(given),
    }));
    await api.call('POST', IMPORT, numbered(1));
    fails = true;
    const body = lines({ subscriber: hook(1), ttl: 60 }, { subscriber: hook(2) });
    expect((await api.call('POST', `${IMPORT}?replace=true`, body)).body).toMatchObject({
      subscriptions: [{ line: 1, result: 'replaced' }],
      failed: [{ line: 2, ...faultOf('internal') }],
    });
    expect(api.changes.map(({ change }) => change)).toEqual([
      'subscription_imported',
      'subscription_changed',
    ]);
  });

  it('fails as a whole if no line succeeded, so that the caller repeats it', async () => {
    let calls = 0;
    const { call } = withRegistry((registry) => ({
      addSubscriptions: (given) => {
        calls += 1;
        return calls === 1 ? Promise.reject(new Error('throttled')) : registry.addSubscriptions(given);
      },
    }));
    expect(await call('POST', IMPORT, numbered(2))).toMatchObject({
      status: 500,
      body: faultOf('internal'),
    });
    expect((await call('POST', IMPORT, numbered(2))).body).toMatchObject({ imported: 2, failed: [] });
  });
});

describe('an import of 500 lines', () => {
  it('looks up and adds as many subscriptions at once as one transaction allows', async () => {
    const asked: number[] = [];
    const added: number[] = [];
    const { call } = withRegistry((registry) => ({
      findByDestinations: (queue, destinations) => {
        asked.push(destinations.length);
        return registry.findByDestinations(queue, destinations);
      },
      addSubscriptions: (given) => {
        added.push(given.length);
        return registry.addSubscriptions(given);
      },
    }));
    expect((await call('POST', IMPORT, numbered(500))).body).toMatchObject({ imported: 500 });
    const expected = [...Array.from({ length: 10 }, () => MAX_SUBSCRIPTIONS_PER_TRANSACTION), 10];
    expect(asked).toEqual(expected);
    expect(added).toEqual(expected);
  });
});
