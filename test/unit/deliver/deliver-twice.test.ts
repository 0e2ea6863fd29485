import { beforeEach, describe, expect, it } from 'vitest';
import { type OneSubscriberWorld, subscribedWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

let world: OneSubscriberWorld;

beforeEach(async () => {
  world = await subscribedWorld({ minimum_delay_retries: 2, minimum_delay: 10, maximum_delay: 10 });
});

describe('a copy of a job or wake-up', () => {
  it('is a no-op while the first one holds the lease, for any number of copies', async () => {
    world.subscriber.script(world.url, [status(200, { takesMs: 3_000 })]);
    const copies = Array.from({ length: 50 }, (_, index) => world.receive(world.job(), `copy-${index}`));
    await world.clock.run();
    await Promise.all(copies);

    expect(world.subscriber.seen).toHaveLength(1);
  });

  it('does not call the subscriber again after a success', async () => {
    await world.publish(1_000);
    await world.receive(world.job(), 'copy');
    await world.receive(world.wakeUp(2), 'late');

    expect(world.subscriber.seen).toHaveLength(1);
    expect((await world.delivery()).attempts).toHaveLength(1);
  });

  it('for an earlier attempt does not change the time of the pending retry', async () => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.publish(1_000);
    await world.receive(world.job(), 'copy');
    await world.clock.run();

    expect(world.gaps()).toEqual([10]);
  });

  it('that is due before the recorded time waits for the recorded time', async () => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.publish(1_000);
    await world.receive(world.wakeUp(2), 'eager');
    expect(world.subscriber.seen).toHaveLength(1);
    await world.clock.run();

    expect(world.gaps()).toEqual([10]);
  });

  it('for a later attempt than the recorded next one makes no attempt', async () => {
    world.subscriber.script(world.url, [status(500)]);
    await world.publish(1_000);
    await world.receive(world.wakeUp(3), 'ahead');

    expect(world.subscriber.seen).toHaveLength(1);
    expect(world.journal.facts).toContainEqual(
      expect.objectContaining({ fact: 'wake_up_dropped', reason: 'stale' }),
    );
  });

  it('without a delivery record is dropped and logged', async () => {
    await world.receive(world.wakeUp(2), 'orphan');

    expect(world.subscriber.seen).toHaveLength(0);
    expect(world.journal.facts).toContainEqual(
      expect.objectContaining({ fact: 'wake_up_dropped', reason: 'no_record' }),
    );
  });
});

describe('after a crash', () => {
  const crash = (): Promise<never> => Promise.reject(new Error('crash'));

  it('between the claim and the record, the attempt is repeated under its number and counted as lost', async () => {
    world.subscriber.onRequest = (_request, count) => (count === 1 ? crash() : Promise.resolve());
    await world.publish(1_000);
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(2);
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1, lost: 1 }],
      lost: 0,
    });
  });

  it('between the record and the wake-up, the redelivered message schedules the wake-up once', async () => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    const sendDelayed = world.wakeUps.sendDelayed.bind(world.wakeUps);
    world.wakeUps.sendDelayed = () => {
      world.wakeUps.sendDelayed = sendDelayed;
      return crash();
    };
    await world.publish(1_000);
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(2);
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1 }, { number: 2 }],
    });
    expect(await world.delivery()).not.toHaveProperty('attempts.1.lost');
  });

  it('before the pending steps, the redelivered message does them', async () => {
    world.subscriber.script(world.url, [status(400)]);
    const send = world.undeliverables.send.bind(world.undeliverables);
    world.undeliverables.send = () => {
      world.undeliverables.send = send;
      return crash();
    };
    await world.publish(1_000);
    await world.clock.run();

    expect(world.undeliverables.sent).toHaveLength(1);
    expect(await world.delivery()).toMatchObject({ status: 'rejected', pendingSteps: [] });
  });

  it('a result whose lease was taken over is stored as a late result, and a success wins', async () => {
    world.subscriber.script(world.url, [
      status(200, { takesMs: 60_000 }),
      status(500, { takesMs: 60_000 }),
      status(500),
    ]);
    const slow = world.receive(world.job(), 'slow');
    await world.clock.run(world.clock.now() + 25_000);
    const other = world.receive(world.job(), 'other', { receiveCount: 2 });
    await world.clock.run();
    await Promise.all([slow, other]);

    const delivery = await world.delivery();
    expect(delivery).toMatchObject({ status: 'delivered', attempts: [], overdueAt: undefined });
    expect(delivery.lateResults).toMatchObject([{ outcome: 'delivered' }, { outcome: 'failed', lost: 1 }]);
    expect(world.subscriber.seen).toHaveLength(2);
  });
});

describe('an invocation that runs out of time', () => {
  it('sends the work as a new message instead of failing the receive', async () => {
    await world.receive(world.job(), 'hurried', { remainingMs: 10_000 });
    expect(world.subscriber.seen).toHaveLength(0);
    expect(world.deliveryJobs.waiting).toBe(1);
    await world.clock.run();

    expect((await world.delivery()).status).toBe('delivered');
  });
});

describe('a retry whose message no longer exists', () => {
  it('is dead-lettered and cancelled with its reason instead of retrying for ever', async () => {
    world.subscriber.script(world.url, [status(500)]);
    await world.publish(1_000);
    world.messageRecords.find = () => Promise.resolve(undefined);
    await world.clock.run();

    expect(world.deadLetters.sent).toMatchObject([{ reason: 'body_missing' }]);
    expect(await world.delivery()).toMatchObject({
      status: 'cancelled',
      reason: 'body_missing',
      overdueAt: undefined,
    });
  });
});
