import { inspect } from 'node:util';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { addSubscription } from '../../support/add-subscription.ts';
import { aBarePolicy, aSubscription } from '../../support/builders.ts';
import { type Answer, CALLER, invalid, refusal } from './api-under-test.ts';
import { PATH, pullWorld, receivedSchema, type PullWorld } from './pull-world.ts';
import { receiptText } from '../../../functions/api/pull/answer.ts';

const HOUR = 3_600_000;
const HELD = '/v2/pull/orders/subscription-1';

let world: PullWorld;

beforeEach(async () => {
  world = await pullWorld();
});

const tokenSchema = z.object({ token: z.string() });

const newToken = async (body: object = {}, path = PATH): Promise<string> => {
  const { body: answer } = await world.call('POST', `${path}/pull-token`, body);
  return tokenSchema.parse(answer).token;
};

/** A request of the holder of a token. */
const by = (token: string | undefined, path = `${HELD}/receive`, body: unknown = {}): Promise<Answer> =>
  world.call('POST', path, body, token === undefined ? {} : { authorization: `Bearer ${token}` });

const OTHER = PATH.replace('subscription-1', 'other');

const withOther = () =>
  addSubscription(world.subscriptions, aSubscription({ id: 'other', subscriber: 'pull:other' }));

/** Publishes two messages, which the holder of a token receives. */
const receivedBy = async (token: string) => {
  await world.publish({ id: 'good' });
  await world.publish({ id: 'bad' });
  const [good, bad] = receivedSchema.parse((await by(token)).body).deliveries;
  return { good: good?.receipt, bad: bad?.receipt };
};

describe('a pull token', () => {
  it('lets its holder receive and answer, without any other authorisation', async () => {
    const token = await newToken();
    const { good, bad } = await receivedBy(token);
    expect(await by(token, `${HELD}/ack`, { receipt: good })).toMatchObject({ status: 204 });
    expect(await by(token, `${HELD}/nack`, { receipt: bad, error: 'no' })).toMatchObject({ status: 204 });
    expect((await world.delivery('subscription-1', 'good')).status).toBe('delivered');
    expect((await world.delivery('subscription-1', 'bad')).status).toBe('retrying');
  });

  it('is random, and stored only as a hash', async () => {
    const [one, two] = [await newToken(), await newToken()];
    expect(one).toMatch(/^phpull_[A-Za-z0-9_-]{43}$/);
    expect(two).not.toBe(one);
    const stored = await world.subscriptions.findSubscription('orders', 'subscription-1');
    const shown = [await world.call('GET', PATH), await world.call('GET', '/v2/queues/orders/export')];
    const output = inspect([stored, shown, world.api.changes, world.journal.facts], { depth: 20 });
    expect(output).not.toContain(one.slice('phpull_'.length));
    const { tokens = [] } = stored?.destination.kind === 'pull' ? stored.destination : {};
    const hashes = tokens.map(({ tokenHash }) => tokenHash);
    expect(hashes).toHaveLength(2);
    expect(inspect([shown, world.api.changes], { depth: 20 })).not.toContain(hashes[0]);
    expect(world.api.changes.at(-1)).toMatchObject({ change: 'pull_token_rotated' });
  });

  it('is valid until the exact end of its grace period once there is another', async () => {
    const old = await newToken();
    const current = await newToken({ graceSeconds: 3600 });
    const statuses = async () => [(await by(old)).status, (await by(current)).status];
    await world.later(HOUR - 1);
    expect(await statuses()).toEqual([200, 200]);
    await world.later(1);
    expect(await statuses()).toEqual([401, 200]);
    await newToken({ graceSeconds: 0 });
    expect(await statuses()).toEqual([401, 401]);
  });

  it('is given to one of two concurrent callers, so that each token that was given works', async () => {
    const ask = () => world.call('POST', `${PATH}/pull-token`, { graceSeconds: 0 });
    const answers = await Promise.all([ask(), ask()]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    const given = answers.find(({ status }) => status === 200)?.body;
    expect(await by(tokenSchema.parse(given).token)).toMatchObject({ status: 200 });
  });

  it('does not undo a new name of its subscription', async () => {
    const { subscriptions } = world;
    const change = subscriptions.changeSubscription.bind(subscriptions);
    vi.spyOn(subscriptions, 'changeSubscription').mockImplementationOnce(async (...args) => {
      expect(await world.call('PATCH', PATH, { subscriber: 'pull:renamed' })).toMatchObject({ status: 200 });
      return change(...args);
    });
    const token = await newToken();
    expect((await world.call('GET', PATH)).body).toMatchObject({ subscriber: 'pull:renamed' });
    expect(await by(token)).toMatchObject({ status: 200 });
  });

  it('is one of five at most', async () => {
    for (let count = 0; count < 5; count += 1) await newToken();
    expect(await world.call('POST', `${PATH}/pull-token`)).toMatchObject(refusal('conflict'));
  });

  it('is refused alike if it is wrong, or its subscription is another, deleted or unknown', async () => {
    await withOther();
    const token = await newToken();
    const wrong = `${token.slice(0, -2)}${token.endsWith('AA') ? 'BA' : 'AA'}`;
    const refused = [
      await by(token, '/v2/pull/orders/other/receive'),
      await by(token, '/v2/pull/orders/missing/receive'),
      await by(token, '/v2/pull/missing/subscription-1/receive'),
      await by(token, '/v2/pull/a%20b/subscription-1/receive'),
      await by(wrong),
      await by('phpull_'),
      await by(''),
      await by(undefined),
      await world.call('POST', `${HELD}/receive`, {}, { authorization: `Basic ${token}` }),
    ];
    await world.call('DELETE', PATH);
    refused.push(await by(token));
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 401));
    expect(refused[0]?.headers.get('www-authenticate')).toBe('Bearer');
    expect(new Set(refused.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });

  it.each(['receive', 'ack', 'nack'])(
    'is checked before the body of a stranger is read: %s',
    async (route) => {
      expect(await by('guess', `${HELD}/${route}`, '{')).toMatchObject({ status: 401 });
    },
  );

  const GUESS = `phpull_${'x'.repeat(43)}`;

  it('reads no table for a text that cannot be one', async () => {
    const read = vi.spyOn(world.api.dependencies.registry, 'findSubscription');
    await by('guess');
    expect(read).not.toHaveBeenCalled();
  });

  it('that is wrong reads its subscription once a second, however often strangers guess', async () => {
    const token = await newToken();
    const read = vi.spyOn(world.api.dependencies.registry, 'findSubscription');
    for (let guess = 0; guess < 20; guess += 1) expect((await by(GUESS)).status).toBe(401);
    expect(read).toHaveBeenCalledTimes(1);
    expect((await by(token)).status).toBe(200);
    expect(read).toHaveBeenCalledTimes(2);
    await world.later(1_001);
    await by(GUESS);
    expect(read).toHaveBeenCalledTimes(3);
  });

  it('that is new is accepted at once, and a second later while strangers guess', async () => {
    await newToken();
    await by(await newToken());
    const token = await newToken({ graceSeconds: 0 });
    expect((await by(token)).status).toBe(200);
    await by(GUESS);
    const next = await newToken();
    expect((await by(next)).status).toBe(401);
    await world.later(1_001);
    expect((await by(next)).status).toBe(200);
  });

  it('is named in the audit trail by the beginning of its hash, with what it received and answered', async () => {
    const token = await newToken();
    const { changes } = world.api;
    const before = changes.length;
    const { good, bad } = await receivedBy(token);
    await by(token);
    await by(token, `${HELD}/ack`, { receipt: good });
    await world.call('POST', `${PATH}/nack`, { receipt: bad, error: 'no' });

    const key = { queue: 'orders', subscriptionId: 'subscription-1' };
    const principal = expect.stringMatching(/^pull token [A-Za-z0-9_-]{12}$/) as unknown;
    expect(changes.slice(before)).toEqual([
      { ...CALLER, principal, change: 'deliveries_received', ...key, deliveries: 2 },
      { ...CALLER, principal, change: 'delivery_acknowledged', ...key, messageId: 'good', attempt: 1 },
      { ...CALLER, change: 'delivery_refused', ...key, messageId: 'bad', attempt: 1 },
    ]);
  });

  it('cannot answer for a delivery of another subscription', async () => {
    await withOther();
    await world.publish();
    const { receipt } = await world.receiveOne();
    const token = await newToken({}, OTHER);
    expect(await by(token, '/v2/pull/orders/other/ack', { receipt })).toMatchObject({ status: 409 });
    expect((await world.delivery()).status).toBe('pending');
  });

  it('is given to no subscription that is called', async () => {
    await addSubscription(world.subscriptions, aSubscription({ id: 'called' }));
    const path = `${PATH.replace('subscription-1', 'called')}/pull-token`;
    expect(await world.call('POST', path)).toMatchObject({ status: 409 });
  });
});

describe('an answer', () => {
  it('is recorded once, however often it is sent', async () => {
    await world.publish({ id: 'good' });
    const good = await world.receiveOne();
    await world.publish({ id: 'bad' });
    const bad = await world.receiveOne();
    for (const _ of [1, 2]) {
      expect((await world.ack(good)).status).toBe(204);
      expect((await world.nack(bad)).status).toBe(204);
    }
    expect((await world.delivery('subscription-1', 'good')).attempts).toHaveLength(1);
    expect((await world.delivery('subscription-1', 'bad')).attempts).toHaveLength(1);
    expect((await world.nack(good)).status).toBe(409);
    expect((await world.ack(bad)).status).toBe(409);
  });

  it('counts after the end of its lease, before that is noticed', async () => {
    await world.publish();
    const received = await world.receiveOne({ lease_seconds: 5 });
    await world.later(5_000);
    expect(await world.ack(received)).toMatchObject({ status: 204 });
    expect((await world.delivery()).attempts).toMatchObject([{ outcome: 'delivered', durationMs: 5_000 }]);
  });

  it.each([
    ['its retry waits', 2, 'retrying'],
    ['it was given up', 0, 'exhausted'],
  ])('by ack counts after its lease has failed and %s', async (_, retries, status) => {
    const policy = aBarePolicy({ minimum_delay_retries: retries, minimum_delay: 5 });
    world = await pullWorld({ options: { _retry_policy: policy } });
    await world.publish();
    const received = await world.receiveOne({ lease_seconds: 5 });
    await world.lapse();
    expect(await world.delivery()).toMatchObject({ status, attempts: [{ result: { kind: 'lapsed' } }] });

    expect((await world.nack(received)).status).toBe(409);
    for (const _again of [1, 2]) expect((await world.ack(received)).status).toBe(204);
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      lateResults: [{ number: 1, outcome: 'delivered' }],
    });
    expect(await world.receive()).toEqual([]);
  });

  it('by ack is refused once the delivery was received again, whose own answer counts', async () => {
    await world.publish();
    const first = await world.receiveOne({ lease_seconds: 5 });
    await world.lapse();
    const second = await world.receiveOne();
    expect((await world.ack(first)).status).toBe(409);
    expect((await world.delivery()).status).toBe('retrying');
    expect((await world.nack(second)).status).toBe(204);
    expect((await world.ack(first)).status).toBe(409);
    expect((await world.delivery()).attempts).toHaveLength(2);
  });

  it.each([
    ['no receipt', 'x'],
    ['JSON of another form', Buffer.from('[2,"orders"]').toString('base64url')],
    [
      'a delivery that does not exist',
      Buffer.from(JSON.stringify([1, 'orders', 'm', 'subscription-1', 0, 1, 'o'])).toString('base64url'),
    ],
  ])('with %s is not found', async (_name, receipt) => {
    expect(await world.ack({ receipt })).toMatchObject(refusal('not_found'));
  });

  it.each(['\ud800', 'a#0', ''])(
    'reads nothing for a receipt whose message cannot exist: %j',
    async (messageId) => {
      const key = { queue: 'orders', messageId, subscriptionId: 'subscription-1', bucket: 0 };
      const receipt = receiptText({ key, attempt: 1, owner: 'pull/guess' });
      world.deliveries.find = () => Promise.reject(new Error('a read'));
      expect(await world.ack({ receipt })).toMatchObject(refusal('not_found'));
    },
  );

  it.each(
    ['attempt', 'owner', 'bucket'].flatMap((part) => [
      { part, when: 'within its lease' },
      { part, when: 'after its lease' },
    ]),
  )('with a forged $part changes nothing $when', async ({ part, when }) => {
    await world.publish();
    const { receipt } = await world.receiveOne({ lease_seconds: 5 });
    if (when === 'after its lease') await world.lapse();
    const parts: unknown = JSON.parse(Buffer.from(receipt, 'base64url').toString());
    if (!Array.isArray(parts)) throw new Error('a receipt is a list');
    const index = { bucket: 4, attempt: 5, owner: 6 }[part] ?? 0;
    const forged = parts.with(index, part === 'owner' ? 'pull/guess' : 3);
    const text = Buffer.from(JSON.stringify(forged)).toString('base64url');
    const before = await world.delivery();
    expect([404, 409]).toContain((await world.ack({ receipt: text })).status);
    expect(await world.delivery()).toEqual(before);
  });

  it('by nack has a text that is bounded and printable', async () => {
    await world.publish();
    const received = await world.receiveOne();
    expect(await world.nack(received, 'a\u0007')).toMatchObject(invalid('error'));
    expect(await world.nack(received, 'x'.repeat(257))).toMatchObject({ status: 400 });
    expect(await world.nack(received, 'x'.repeat(256))).toMatchObject({ status: 204 });
  });
});

describe('after its subscription was deleted', () => {
  const end = {
    deleted: () => world.call('DELETE', PATH),
    expired: () => world.later(30_000),
    'deleted with its queue': () => world.call('DELETE', '/v2/queues/orders'),
  };

  /** A delivery that was received before that, with a token. */
  const deleted = async (how: keyof typeof end = 'deleted') => {
    const token = await newToken();
    await world.publish();
    const received = await world.receiveOne({ lease_seconds: 60 });
    if (how === 'expired') {
      const { subscriptions, clock } = world;
      const key = { queue: 'orders', subscriptionId: 'subscription-1', now: clock.now() };
      await subscriptions.changeSubscription(key, (found) => ({ ...found, expiresAt: key.now + 20_000 }));
    }
    await end[how]();
    return { token, received, receipt: received.receipt };
  };

  it.each([
    ['ack', 'delivered'],
    ['nack', 'failed'],
  ] as const)('an operator can %s a received delivery within its lease', async (answer, outcome) => {
    const { received } = await deleted();
    expect(await world[answer](received)).toMatchObject({ status: 204 });
    expect((await world.delivery()).attempts).toMatchObject([{ outcome }]);
  });

  it.each([
    ['deleted', 'ack', 'delivered'],
    ['deleted', 'nack', 'failed'],
    ['expired', 'ack', 'delivered'],
    ['expired', 'nack', 'failed'],
  ] as const)(
    'or %s, the holder of its token can %s too, and do nothing else',
    async (how, answer, outcome) => {
      const { token, receipt } = await deleted(how);
      expect(await by(token)).toMatchObject({ status: 401 });
      expect(await by(token, `${HELD}/${answer}`, { receipt })).toMatchObject({ status: 204 });
      expect((await world.delivery()).attempts).toMatchObject([{ outcome }]);
    },
  );

  it('with its queue, no answer counts', async () => {
    const { token, received, receipt } = await deleted('deleted with its queue');
    expect(await world.ack(received)).toMatchObject({ status: 404 });
    expect(await by(token, `${HELD}/ack`, { receipt })).toMatchObject({ status: 401 });
  });

  it('nothing can be received', async () => {
    await deleted();
    expect(await world.call('POST', `${PATH}/receive`, {})).toMatchObject({ status: 404 });
  });
});
