import { describe, expect, it } from 'vitest';
import { removeMember } from '../../../shared/domain/delivery/chunk.ts';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { chunkedWorld, type ChunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { answered } from '../../support/delivery-builders.ts';

const RETRIED = { minimum_delay_retries: 2, minimum_delay: 10, maximum_delay: 10 };

const cancelled = async (world: ChunkedWorld, id: string) =>
  cancelDelivery(world.byHandContext, await world.keyOf(id), 'manual');

const retried = async (world: ChunkedWorld, id: string) =>
  retryDelivery(world.byHandContext, await world.keyOf(id));

/** Three subscribers: two answer after one second, the last after five. */
const underWay = async (
  answers: Partial<Record<string, number>> = {},
  policy: Parameters<typeof chunkedWorld>[1] = {},
): Promise<ChunkedWorld> => {
  const world = await chunkedWorld(3, policy);
  for (const [index, id] of world.ids.entries())
    world.subscriber.script(world.urlOf(id), [
      status(answers[id] ?? 200, { takesMs: index === 2 ? 5_000 : 1_000 }),
    ]);
  await world.publish();
  await world.until(500);
  return world;
};

describe('a manual cancellation of a delivery in a chunk', () => {
  it('during its attempt creates a separate record, and a success still counts', async () => {
    const world = await underWay();
    expect((await cancelled(world, 's-3')).kind).toBe('cancelled');
    expect(world.separateMembers()).toEqual(['s-3']);
    expect((await world.chunk())?.members?.get('s-3')).toBe('separate');
    expect(await world.delivery('s-3')).toMatchObject({ status: 'cancelled', reason: 'manual' });

    await world.clock.run();
    const delivery = await world.delivery('s-3');
    expect(delivery).toMatchObject({ status: 'delivered', attempts: [] });
    expect(delivery.lateResults).toMatchObject([{ outcome: 'delivered', result: answered(200) }]);
    expect(world.requests()).toEqual([1, 1, 1]);
    // The other successes had already been recorded.
    expect(world.separateMembers()).toEqual(['s-3']);
  });

  it('makes the common write of successes fail, so that the others get separate records', async () => {
    const world = await underWay();
    await cancelled(world, 's-2');
    await world.clock.run();

    expect(world.writes().filter((write) => write === 'chunk leased')).toHaveLength(2);
    expect(world.separateMembers()).toEqual(['s-1', 's-2']);
    expect(await world.delivery('s-1')).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1 }],
      lateResults: [],
      lost: 0,
    });
    expect(await world.delivery('s-2')).toMatchObject({ status: 'delivered', lateResults: [{}] });
    expect((await world.delivery('s-3')).status).toBe('delivered');
    expect(world.requests()).toEqual([1, 1, 1]);
  });

  it('that crashes after creating a separate record does not affect the attempt', async () => {
    const world = await underWay({ 's-2': 503 }, { policy: RETRIED });
    for (const id of ['s-1', 's-2']) {
      const delivery = await world.delivery(id);
      const { queue, messageId, bucket } = delivery.key;
      const place = { queue, messageId, bucket, chunk: 0 };
      await world.chunks.takeOut(removeMember(place, id, 'pending', delivery), delivery);
    }
    await world.clock.run(world.clock.now() + 6_000);

    expect(await world.delivery('s-1')).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1 }],
      lateResults: [],
      lease: undefined,
    });
    expect(await world.delivery('s-2')).toMatchObject({
      status: 'retrying',
      attempts: [{ number: 1 }],
      lateResults: [],
    });
  });

  it('prevents a first attempt that is not due yet, but not those of the other members', async () => {
    const world = await chunkedWorld(4);
    await world.publish({}, 60);
    for (const id of ['s-2', 's-3']) expect((await cancelled(world, id)).kind).toBe('cancelled');
    expect((await world.chunk())?.members).toBeUndefined();
    await world.clock.run();

    expect(world.requests()).toEqual([1, 0, 0, 1]);
    expect(await world.delivery('s-2')).toMatchObject({
      status: 'cancelled',
      reason: 'manual',
      attempts: [],
    });
    expect(world.separateMembers()).toEqual(['s-2', 's-3']);
    for (const id of ['s-1', 's-4']) expect((await world.delivery(id)).status).toBe('delivered');
  });

  it('after a crash ends the delivery, and the redelivered job attempts the others', async () => {
    const world = await chunkedWorld(3);
    for (const id of world.ids) world.subscriber.script(world.urlOf(id), [status(200, { takesMs: 1_000 })]);
    await world.publish({}, 900);
    world.deliverDying(world.job(), world.received('dead'), 500);
    await world.until(180_000);
    expect((await cancelled(world, 's-2')).kind).toBe('cancelled');
    const again = world.deliverCopy(world.job(), world.received('next', 2));
    await world.clock.run();
    await again;

    expect(world.requests()).toEqual([2, 1, 2]);
    expect((await world.delivery('s-2')).status).toBe('cancelled');
  });
});

describe('a manual retry of a delivery in a chunk', () => {
  it('opens a round for a delivered member on a separate record; the others stay in the chunk', async () => {
    const world = await chunkedWorld(3);
    world.settings.retainMessages = 'all';
    await world.publish();
    await world.clock.run();
    const before = await world.delivery('s-2');
    expect((await retried(world, 's-2')).kind).toBe('retried');
    await world.clock.run();

    expect(world.requests()).toEqual([1, 2, 1]);
    expect(world.separateMembers()).toEqual(['s-2']);
    expect((await world.chunk())?.members?.get('s-2')).toBe('separate');
    const delivery = await world.delivery('s-2');
    expect(delivery).toMatchObject({
      status: 'delivered',
      round: 2,
      attempts: [before.attempts[0], { number: 2, round: 2, phase: 'manual' }],
      lost: 0,
    });
  });

  it('is refused before its job is received, and while SQS will redeliver it', async () => {
    const world = await chunkedWorld(2);
    await world.publish({}, 900);
    expect(await retried(world, 's-1')).toMatchObject({ why: 'no_such_delivery' });
    world.subscriber.script(world.urlOf('s-1'), [status(200, { takesMs: 1_000 })]);
    world.deliverDying(world.job(), world.received('dead'), 500);
    await world.until(180_000);

    expect(await retried(world, 's-1')).toMatchObject({ why: 'not_begun' });
  });
});
