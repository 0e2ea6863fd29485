import { beforeEach, describe, expect, it } from 'vitest';
import { type OneSubscriberWorld, subscribedWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const HOUR_MS = 3_600_000;
const COPIES = 50;

let world: OneSubscriberWorld;

beforeEach(async () => {
  world = await subscribedWorld({ minimum_delay_retries: 1, minimum_delay: 10 });
});

const receiveCopies = async (dueInMs: number): Promise<void> => {
  const wakeUp = world.wakeUp(2, world.clock.now() + dueInMs);
  for (let copy = 1; copy <= COPIES; copy += 1) await world.receive(wakeUp, `copy-${copy}`);
};

describe('copies of an early wake-up', () => {
  it('become one schedule if they are due after the maximum SQS delay', async () => {
    await receiveCopies(HOUR_MS);

    expect(world.schedules).toHaveLength(1);
    expect(world.retryQueue.waiting).toBe(0);
  });

  it('are each delayed by SQS if they are due within its maximum delay', async () => {
    await receiveCopies(15 * 60_000);

    expect(world.schedules).toHaveLength(0);
    expect(world.retryQueue.waiting).toBe(COPIES);
  });
});

describe('a wake-up that arrives a fraction of a second early', () => {
  it('is waited for, so that the attempt starts exactly on time', async () => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    const send = world.wakeUps.sendDelayed.bind(world.wakeUps);
    world.wakeUps.sendDelayed = () => Promise.resolve();
    const startedAt = world.clock.now();
    await world.publish(4_700);
    world.wakeUps.sendDelayed = send;
    // 5.3 s are left, and SQS delays by whole seconds: the wake-up arrives after 5 s.
    await world.receive(world.wakeUp(2, startedAt + 10_000), 'early');
    await world.clock.run();

    expect(world.subscriber.seen.map(({ at }) => at - startedAt)).toEqual([0, 10_000]);
  });
});
