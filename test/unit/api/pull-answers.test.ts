import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { receiptText } from '../../../functions/api/pull/answer.ts';
import { aBarePolicy, aSubscription } from '../../support/builders.ts';
import { faultOf } from './api-under-test.ts';
import { PATH, pullWorld, type PullWorld } from './pull-world.ts';

let world: PullWorld;

beforeEach(async () => {
  world = await pullWorld();
});

describe('an answer', () => {
  it('is recorded once, however often it is sent', async () => {
    await world.publish({ id: 'good' });
    await world.publish({ id: 'bad' });
    const [good, bad] = await world.receive();
    if (good === undefined || bad === undefined) throw new Error('two were published');
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
    expect(await world.ack({ receipt })).toMatchObject({ status: 404, body: faultOf('not_found') });
  });

  it.each(['\ud800', 'a#0', ''])(
    'reads nothing for a receipt whose message cannot exist: %j',
    async (messageId) => {
      const key = { queue: 'orders', messageId, subscriptionId: 'subscription-1', bucket: 0 };
      const receipt = receiptText({ key, attempt: 1, owner: 'pull/guess' });
      world.deliveries.find = () => Promise.reject(new Error('a read'));
      expect(await world.ack({ receipt })).toMatchObject({ status: 404, body: faultOf('not_found') });
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

  it('with a receipt of another subscription is a conflict', async () => {
    await world.subscriptions.addSubscription(aSubscription({ id: 'other', subscriber: 'pull:other' }));
    await world.publish();
    const { receipt } = await world.receiveOne();
    const path = PATH.replace('subscription-1', 'other');
    expect(await world.call('POST', `${path}/ack`, { receipt })).toMatchObject({ status: 409 });
    expect((await world.delivery()).status).toBe('pending');
  });

  it('by nack has a text that is bounded and printable', async () => {
    await world.publish();
    const received = await world.receiveOne();
    expect(await world.nack(received, 'a\u0007')).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', 'error'),
    });
    expect(await world.nack(received, 'x'.repeat(257))).toMatchObject({ status: 400 });
    expect(await world.nack(received, 'x'.repeat(256))).toMatchObject({ status: 204 });
  });
});

describe('after its subscription was deleted', () => {
  const HELD = '/v2/pull/orders/subscription-1';

  const end = {
    deleted: () => world.call('DELETE', PATH),
    expired: () => world.later(30_000),
    'deleted with its queue': () => world.call('DELETE', '/v2/queues/orders?subscriptions=delete'),
  };

  const deleted = async (how: keyof typeof end = 'deleted') => {
    const answer = await world.call('POST', `${PATH}/pull-token`, {});
    const { token } = z.object({ token: z.string() }).parse(answer.body);
    await world.publish();
    const received = await world.receiveOne({ lease_seconds: 60 });
    if (how === 'expired') {
      const { subscriptions, clock } = world;
      const key = { queue: 'orders', subscriptionId: 'subscription-1', now: clock.now() };
      await subscriptions.changeSubscription(key, (found) => ({ ...found, expiresAt: key.now + 20_000 }));
    }
    await end[how]();
    const headers = { authorization: `Bearer ${token}` };
    return { received, headers };
  };

  it.each(['ack', 'nack'])('an operator can %s a received delivery within its lease', async (answer) => {
    const { received } = await deleted();
    const { status } = await (answer === 'ack' ? world.ack(received) : world.nack(received));
    expect(status).toBe(204);
    const recorded = await world.delivery();
    expect(recorded.attempts).toMatchObject([{ outcome: answer === 'ack' ? 'delivered' : 'failed' }]);
  });

  it.each([
    ['deleted', 'ack', 'delivered'],
    ['deleted', 'nack', 'failed'],
    ['expired', 'ack', 'delivered'],
    ['expired', 'nack', 'failed'],
  ] as const)(
    'or %s, the holder of its token can %s too, and do nothing else',
    async (how, answer, outcome) => {
      const { received, headers } = await deleted(how);
      const { receipt } = received;
      expect((await world.call('POST', `${HELD}/receive`, {}, headers)).status).toBe(401);
      expect((await world.call('POST', `${HELD}/${answer}`, { receipt }, headers)).status).toBe(204);
      expect((await world.delivery()).attempts).toMatchObject([{ outcome }]);
    },
  );

  it('with its queue, no answer counts', async () => {
    const { received, headers } = await deleted('deleted with its queue');
    const { receipt } = received;
    expect((await world.ack(received)).status).toBe(404);
    expect((await world.call('POST', `${HELD}/ack`, { receipt }, headers)).status).toBe(401);
  });

  it('nothing can be received', async () => {
    await deleted();
    expect((await world.call('POST', `${PATH}/receive`, {})).status).toBe(404);
  });
});
