import { beforeEach, describe, expect, it, vi } from 'vitest';
import { payloadKeyOf } from '../../../shared/domain/message/body.ts';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { eraseBody } from '../../../functions/api/messages/messages.ts';
import { aBarePolicy, aMessage } from '../../support/builders.ts';
import { oneSubscriberWorld, type OneSubscriberWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const key = { queue: 'orders', messageId: 'message-1' };
const delivery = { ...key, subscriptionId: 'subscription-1', bucket: 0 };
const policy = aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 10 });

let world: OneSubscriberWorld;

const erase = () => eraseBody(world, key);

const SIZES = [
  ['in the record', 100],
  ['in the bucket by the first failure', 20_000],
  ['in the bucket by dispatch', 100_000],
] as const;

describe.each(SIZES)('erasing a body that is stored %s', (_, bytes) => {
  const message = aMessage({ data: JSON.stringify('x'.repeat(bytes)) });
  const publish = () => world.dispatch({ ok: true, message });
  const expectNothingStored = async () => {
    expect(await world.messageRecords.find(key)).not.toHaveProperty('body');
    expect(world.payloads.stored.size).toBe(0);
  };

  beforeEach(async () => {
    world = oneSubscriberWorld();
    await world.subscribe(policy);
    world.subscriber.script(world.url, [status(503)]);
  });

  it('ends retries without further requests or dead letters, and records the reason', async () => {
    world.subscriber.onRequest = async (_request, count) => {
      if (count === 2) await erase();
    };
    await publish();
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(2);
    expect(await world.delivery()).toMatchObject({
      status: 'cancelled',
      reason: 'body_erased',
      attempts: [{ number: 1 }, { number: 2 }],
    });
    expect(world.deadLetters.sent).toEqual([]);
    await expectNothingStored();
  });

  it('during the first attempt keeps the failure from storing the body', async () => {
    world.subscriber.onRequest = async () => {
      await erase();
    };
    await publish();
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(1);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'body_erased' });
    expect(world.deadLetters.sent).toEqual([]);
    await expectNothingStored();
  });

  it('before the first attempt leaves nothing stored', async () => {
    await publish();
    await erase();
    await world.clock.run();

    expect(world.subscriber.seen.length).toBeLessThanOrEqual(1);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'body_erased' });
    expect(world.deadLetters.sent).toEqual([]);
    await expectNothingStored();
  });

  it('is permanent: a duplicate of the message stores nothing', async () => {
    await publish();
    await world.clock.run();
    await erase();
    await publish();
    await world.clock.run();

    expect(await world.messageRecords.find(key)).toMatchObject({ duplicates: 1 });
    await expectNothingStored();
  });

  it('prevents another round of a delivery that has ended', async () => {
    await publish();
    await world.clock.run();
    expect(await world.delivery()).toMatchObject({ status: 'exhausted' });
    await erase();

    expect(await retryDelivery(world.byHandContext, delivery)).toMatchObject({
      kind: 'refused',
      why: 'body_gone',
    });
  });
});

describe('erasing a body', () => {
  beforeEach(() => {
    world = oneSubscriberWorld();
  });

  it('returns no_such_message for an unknown message', async () => {
    expect(await erase()).toBe('no_such_message');
  });

  it('before a failing first attempt keeps the body out of the bucket, where a crash would leave it', async () => {
    await world.subscribe(policy);
    world.subscriber.script(world.url, [status(503)]);
    await world.dispatch({ ok: true, message: aMessage({ data: JSON.stringify('x'.repeat(20_000)) }) });
    await erase();
    const put = vi.spyOn(world.payloads, 'put');
    await world.clock.run();

    expect(put).not.toHaveBeenCalled();
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'body_erased' });
  });

  it('lets the next attempt to store the body remove an object that a crash left in the bucket', async () => {
    await world.subscribe(policy);
    world.subscriber.script(world.url, [status(503)]);
    const message = aMessage({ data: JSON.stringify('x'.repeat(20_000)) });
    await world.dispatch({ ok: true, message });
    await erase();
    await world.payloads.put(payloadKeyOf(message), message);
    await world.clock.run();

    expect(world.payloads.stored.size).toBe(0);
  });

  it('stops another round from storing a large body again', async () => {
    await world.subscribe(policy);
    world.subscriber.script(world.url, [status(503)]);
    await world.dispatch({ ok: true, message: aMessage({ data: JSON.stringify('x'.repeat(20_000)) }) });
    await world.clock.run();
    // The record would expire before the end of the round, so the object is stored again.
    world.clock.at(world.clock.now() + 20 * 24 * 60 * 60 * 1000, () => undefined);
    await world.clock.run();
    const get = world.payloads.get.bind(world.payloads);
    const payloads = {
      ...world.payloads,
      get: async (payloadKey: string) => {
        const found = await get(payloadKey);
        await erase();
        return found;
      },
    };
    const { ports, settings } = world.byHandContext;
    const result = await retryDelivery({ ports: { ...ports, payloads }, settings }, delivery);
    expect(result).toMatchObject({ kind: 'refused', why: 'body_gone' });
    expect(world.payloads.stored.size).toBe(0);
  });

  it('completes an interrupted erasure when it is repeated', async () => {
    await world.subscribe(policy);
    world.subscriber.script(world.url, [status(503)]);
    await world.dispatch({ ok: true, message: aMessage({ data: JSON.stringify('x'.repeat(20_000)) }) });
    await world.clock.run();
    const crashing = {
      ...world.payloads,
      removeAll: () => Promise.reject(new Error('The function was killed')),
    };
    await expect(
      eraseBody({ clock: world.clock, messageRecords: world.messageRecords, payloads: crashing }, key),
    ).rejects.toThrow('killed');
    expect(world.payloads.stored.size).toBe(1);
    expect(await erase()).toBe('erased');
    expect(world.payloads.stored.size).toBe(0);
  });
});
