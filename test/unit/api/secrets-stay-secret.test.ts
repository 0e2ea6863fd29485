import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { wholeApi } from '../../support/whole-api.ts';
import { inMemorySecrets } from '../../support/in-memory/in-memory-secrets.ts';
import { apiUnderTest } from './api-under-test.ts';

const SUBSCRIPTIONS = '/v2/queues/orders/subscriptions';
const IMPORT = '/v2/queues/orders/import';
const LINES = '{"subscriber": "https://hooks.example/a"}\n{"subscriber": "https://hooks.example/b"}\nwrong';

/** The usual text forms of bytes. */
const spellings = (bytes: Buffer): string[] => [
  bytes.toString('base64').replace(/=+$/, ''),
  bytes.toString('base64url'),
  bytes.toString('hex'),
  [...bytes].join(','),
];

const bytesOf = (secret: string): Buffer => Buffer.from(secret.replace(/^wh(sec|sk)_/, ''), 'base64');

describe('a signing secret', () => {
  it('appears only in the response that creates it: in no other response, audit entry or error, sealed or not', async () => {
    const { call, changes, faults, registry } = apiUnderTest();
    const planted = { v1: randomBytes(32), v1a: randomBytes(32) };
    const subscribed = await call('POST', SUBSCRIPTIONS, { subscriber: 'https://hooks.example/orders' });
    const made = z.object({ secret: z.string() }).parse(subscribed.body).secret;
    const rotate = `${SUBSCRIPTIONS}/id-1/secret/rotate`;
    const imported = await call('POST', IMPORT, LINES);
    const shown = z
      .object({ subscriptions: z.array(z.object({ secret: z.string() })).length(2) })
      .parse(imported.body)
      .subscriptions.map(({ secret }) => secret);
    await call('POST', rotate, { secret: `whsec_${planted.v1.toString('base64')}` });
    const answers = [
      await call('POST', rotate, { secret: `whsk_${planted.v1a.toString('base64')}` }),
      await call('POST', rotate, { secret: `whsec_${planted.v1.toString('base64')}`, graceSeconds: -1 }),
      await call('POST', rotate, { secret: `whsec_${planted.v1.toString('base64')}!` }),
      await call('POST', rotate, { secret: `whsec_${planted.v1.toString('base64')}`, type: 'v1a' }),
      await call('POST', SUBSCRIPTIONS, { subscriber: 'https://hooks.example/orders' }),
      await call('POST', IMPORT, LINES),
      await call('POST', '/v2/credentials/orders'),
      ...(await allGetResponses(call)),
    ];
    const kept = (await registry.findSubscription('orders', 'id-1'))?.secrets ?? [];
    expect(kept).toHaveLength(3);

    const output = inspect({ answers, changes, faults }, { depth: 20, maxArrayLength: null });
    const forbidden = [
      ...[bytesOf(made), planted.v1, planted.v1a, ...shown.map(bytesOf)].flatMap(spellings),
      ...kept.map(({ sealed }) => sealed),
    ];
    for (const spelling of forbidden) expect(output).not.toContain(spelling);
  });

  it('does not appear in the error that is reported if it cannot be sealed', async () => {
    const outage = new Error('KMS does not respond');
    const { call, faults } = apiUnderTest({
      secretSealer: { ...inMemorySecrets(), seal: () => Promise.reject(outage) },
    });
    await call('POST', SUBSCRIPTIONS, { subscriber: 'https://hooks.example/orders' });
    expect(faults.map(({ fault }) => fault)).toEqual([outage]);
  });
});

/** The responses of all GET routes. */
const allGetResponses = async (call: ReturnType<typeof apiUnderTest>['call']) => {
  const paths = new Set(getRoutes().map((path) => path.replace(':queue', 'orders').replace(/:\w+/g, 'id-1')));
  expect(paths).toContain(`${SUBSCRIPTIONS}/id-1`);
  const answers = [];
  for (const path of paths) answers.push(await call('GET', path));
  return answers;
};

const getRoutes = (): string[] => {
  const { dependencies } = apiUnderTest();
  return wholeApi(dependencies)
    .routes.filter(({ method }) => method === 'GET')
    .map(({ path }) => path);
};
