import { beforeEach, describe, expect, it } from 'vitest';
import type { DeliveryJob, WakeUp } from '../../../shared/domain/delivery/job.ts';
import { deliver } from '../../../functions/deliver/deliver.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const URL = 'https://subscriber.test/hook';
const key = { queue: 'orders', messageId: 'message-1', subscriptionId: 'subscription-1', bucket: 0 };

let world: PipelineWorld;

beforeEach(async () => {
  world = pipelineWorld();
  await world.subscriptions.putQueue(aQueue());
  await world.subscriptions.addSubscription(
    aSubscription({
      options: {
        _retry_policy: aBarePolicy({ minimum_delay_retries: 2, minimum_delay: 10, maximum_delay: 10 }),
      },
    }),
  );
});

const job = (): DeliveryJob => ({
  kind: 'job',
  key,
  attempt: 1,
  acceptedAt: world.clock.now(),
  body: { kind: 'inline', message: aMessage() },
});

const wakeUp = (attempt: number): WakeUp => ({ kind: 'wake_up', key, attempt, dueAt: world.clock.now() });

const received = (owner: string, receiveCount = 1, remainingMs = 30_000) => ({
  id: `sqs-${owner}`,
  text: '{}',
  owner,
  receiveCount,
  remainingMs: () => remainingMs,
});

const dispatched = async (): Promise<void> => {
  await world.dispatch({ ok: true, message: aMessage() });
  await world.clock.run(world.clock.now() + 1_000);
};

describe('a copy of a job or wake-up', () => {
  it('does nothing while the first one is at it, however many there are', async () => {
    world.subscriber.script(URL, [status(200, { takesMs: 3_000 })]);
    const copies = Array.from({ length: 50 }, (_, index) =>
      deliver(world.deliverContext, job(), received(`copy-${index}`)),
    );
    await world.clock.run();
    await Promise.all(copies);

    expect(world.subscriber.seen).toHaveLength(1);
  });

  it('does nothing after a success', async () => {
    await dispatched();
    await deliver(world.deliverContext, job(), received('copy'));
    await deliver(world.deliverContext, wakeUp(2), received('late'));

    expect(world.subscriber.seen).toHaveLength(1);
    expect((await world.delivery()).attempts).toHaveLength(1);
  });

  it('of an old number does nothing, and the pending retry stays at its time', async () => {
    world.subscriber.script(URL, [status(500), status(200)]);
    await dispatched();
    await deliver(world.deliverContext, job(), received('copy'));
    await world.clock.run();

    expect(world.subscriber.seen.map(({ at }) => at - (world.subscriber.seen[0]?.at ?? 0))).toEqual([
      0, 10_000,
    ]);
  });

  it('that says to be due earlier than the record does waits for the record', async () => {
    world.subscriber.script(URL, [status(500), status(200)]);
    await dispatched();
    await deliver(world.deliverContext, wakeUp(2), received('eager'));
    expect(world.subscriber.seen).toHaveLength(1);
    await world.clock.run();

    expect(world.subscriber.seen.map(({ at }) => at - (world.subscriber.seen[0]?.at ?? 0))).toEqual([
      0, 10_000,
    ]);
  });

  it('from ahead of the record makes no attempt', async () => {
    world.subscriber.script(URL, [status(500)]);
    await dispatched();
    await deliver(world.deliverContext, wakeUp(3), received('ahead'));

    expect(world.subscriber.seen).toHaveLength(1);
    expect(world.journal.facts).toContainEqual(
      expect.objectContaining({ fact: 'wake_up_dropped', reason: 'stale' }),
    );
  });

  it('without a record is dropped and counted', async () => {
    await deliver(world.deliverContext, wakeUp(2), received('orphan'));

    expect(world.subscriber.seen).toHaveLength(0);
    expect(world.journal.facts).toContainEqual(
      expect.objectContaining({ fact: 'wake_up_dropped', reason: 'no_record' }),
    );
  });
});

describe('after a crash', () => {
  const crash = (): Promise<never> => Promise.reject(new Error('crash'));

  it('between the claim and the record, the attempt is made again under its number and counted as lost', async () => {
    world.subscriber.onRequest = (_request, count) => (count === 1 ? crash() : Promise.resolve());
    await dispatched();
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(2);
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1, lost: 1 }],
      lost: 0,
    });
  });

  it('between the record and the wake-up, the message that comes again schedules it, and only then', async () => {
    world.subscriber.script(URL, [status(500), status(200)]);
    const sendDelayed = world.wakeUps.sendDelayed.bind(world.wakeUps);
    world.wakeUps.sendDelayed = () => {
      world.wakeUps.sendDelayed = sendDelayed;
      return crash();
    };
    await dispatched();
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(2);
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1 }, { number: 2 }],
    });
    expect(await world.delivery()).not.toHaveProperty('attempts.1.lost');
  });

  it('before what is owed was done, the message that comes again does it', async () => {
    world.subscriber.script(URL, [status(400)]);
    const send = world.undeliverables.send.bind(world.undeliverables);
    world.undeliverables.send = () => {
      world.undeliverables.send = send;
      return crash();
    };
    await dispatched();
    await world.clock.run();

    expect(world.undeliverables.sent).toHaveLength(1);
    expect(await world.delivery()).toMatchObject({ status: 'rejected', owed: [] });
  });

  it('a result whose lease was taken over is on record outside the numbering, and a delivered one wins', async () => {
    world.subscriber.script(URL, [
      status(200, { takesMs: 60_000 }),
      status(500, { takesMs: 60_000 }),
      status(500),
    ]);
    const slow = deliver(world.deliverContext, job(), received('slow'));
    await world.clock.run(world.clock.now() + 25_000);
    const other = deliver(world.deliverContext, job(), received('other', 2));
    await world.clock.run();
    await Promise.all([slow, other]);

    const delivery = await world.delivery();
    expect(delivery).toMatchObject({ status: 'delivered', attempts: [], overdueAt: undefined });
    expect(delivery.lateResults).toMatchObject([{ outcome: 'delivered' }, { outcome: 'failed', lost: 1 }]);
    expect(world.subscriber.seen).toHaveLength(2);
  });
});

describe('an invocation that runs out of time', () => {
  it('gives the work back as a new message instead of failing the receive', async () => {
    await deliver(world.deliverContext, job(), received('hurried', 1, 10_000));
    expect(world.subscriber.seen).toHaveLength(0);
    expect(world.deliveryJobs.waiting).toBe(1);
    await world.clock.run();

    expect((await world.delivery()).status).toBe('delivered');
  });
});

describe('a retry whose message is gone', () => {
  it('is dead-lettered with its reason, and its record says so instead of retrying for ever', async () => {
    world.subscriber.script(URL, [status(500)]);
    await dispatched();
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
