import { beforeEach, describe, expect, it } from 'vitest';
import type { WakeUp } from '../../../shared/domain/delivery/job.ts';
import { deliver } from '../../../functions/deliver/deliver.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const HOUR_MS = 3_600_000;
const COPIES = 50;

let world: PipelineWorld;

beforeEach(() => {
  world = pipelineWorld();
});

const receiveCopies = async (dueInMs: number): Promise<void> => {
  const wakeUp: WakeUp = {
    kind: 'wake_up',
    key: { queue: 'orders', messageId: 'message-1', subscriptionId: 'subscription-1', bucket: 0 },
    attempt: 2,
    dueAt: world.clock.now() + dueInMs,
  };
  for (let copy = 1; copy <= COPIES; copy += 1)
    await deliver(world.deliverContext, wakeUp, {
      id: `sqs-${copy}`,
      text: '{}',
      owner: `copy-${copy}`,
      receiveCount: 1,
      remainingMs: () => 30_000,
    });
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
    await world.subscriptions.putQueue(aQueue());
    await world.subscriptions.addSubscription(
      aSubscription({
        options: { _retry_policy: aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 10 }) },
      }),
    );
    world.subscriber.script(aSubscription().subscriber, [status(500), status(200)]);
    const send = world.wakeUps.sendDelayed.bind(world.wakeUps);
    world.wakeUps.sendDelayed = () => Promise.resolve();
    const startedAt = world.clock.now();
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(startedAt + 4_700);
    world.wakeUps.sendDelayed = send;
    // 5.3 s are left, and SQS delays by whole seconds: the wake-up arrives after 5 s.
    await deliver(
      world.deliverContext,
      {
        kind: 'wake_up',
        key: { queue: 'orders', messageId: 'message-1', subscriptionId: 'subscription-1', bucket: 0 },
        attempt: 2,
        dueAt: startedAt + 10_000,
      },
      { id: 'sqs-1', text: '{}', owner: 'early', receiveCount: 1, remainingMs: () => 30_000 },
    );
    await world.clock.run();

    expect(world.subscriber.seen.map(({ at }) => at - startedAt)).toEqual([0, 10_000]);
  });
});
