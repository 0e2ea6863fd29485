import { beforeEach, describe, expect, it } from 'vitest';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription, SUBSCRIBER_URL } from '../../support/builders.ts';
import { withExpiringBodies } from '../../support/in-memory/expiring-bodies.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const DAYS = 120;

let world: PipelineWorld;
let startedAt: number;
let extended: number;

/** A subscriber of a full line for as long: each delivery asks again a day later. */
const fullLine = async (options = {}): Promise<void> => {
  const { rateLimits, clock } = world;
  const reserve = rateLimits.reserve.bind(rateLimits);
  rateLimits.reserve = (...args) =>
    clock.now() < startedAt + DAYS * DAY_MS
      ? Promise.resolve({ at: clock.now() + DAY_MS })
      : reserve(...args);
  await world.subscriptions.addSubscription(
    aSubscription({ options: { max_per_second: 1, _retry_policy: aBarePolicy(), ...options } }),
  );
};

beforeEach(() => {
  world = pipelineWorld();
  withExpiringBodies(world);
  startedAt = world.clock.now();
  extended = 0;
  const { messageRecords } = world;
  const keepBody = messageRecords.keepBody.bind(messageRecords);
  messageRecords.keepBody = (...args) => {
    extended += 1;
    return keepBody(...args);
  };
});

describe('a delivery that waits for longer than the longest schedule', () => {
  it.each([
    ['small', 10, {}],
    ['of 9 KB', 9 * 1024, {}],
    ['of 70 KB', 70 * 1024, {}],
    ['of 70 KB, in a queue that keeps less', 70 * 1024, { _retention_days: 15 }],
  ])(
    'is sent with its data, kept again only when it would expire: a message %s',
    async (_what, bytes, metadata) => {
      await world.subscriptions.putQueue(aQueue({ metadata }));
      await fullLine();
      await world.dispatch({ ok: true, message: aMessage({ data: JSON.stringify('x'.repeat(bytes)) }) });
      await world.clock.run(startedAt + (DAYS - 1) * DAY_MS);
      expect(await world.delivery()).toMatchObject({ status: 'pending', attempts: [] });
      expect(extended).toBeLessThan(9);
      await world.clock.run();

      expect(await world.delivery()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
      expect(world.subscriber.seen).toHaveLength(1);
    },
  );

  it('is cancelled if its data was erased meanwhile, which is not kept again', async () => {
    await world.subscriptions.putQueue(aQueue());
    await fullLine();
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(startedAt + DAY_MS);
    await world.messageRecords.eraseBody({ queue: 'orders', messageId: 'message-1' }, world.clock.now());
    await world.clock.run();

    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'body_erased' });
  });
});

describe('a delivery within its policy', () => {
  it('has its data kept once', async () => {
    await world.subscriptions.putQueue(aQueue());
    const policy = aBarePolicy({ maximum_delay_retries: 2, maximum_delay: 7 * 86_400 });
    world.subscriber.script(SUBSCRIBER_URL, [status(500)]);
    world.settings.disableFailingAfterMs = 0;
    await world.subscriptions.addSubscription(aSubscription({ options: { _retry_policy: policy } }));
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run();

    expect(await world.delivery()).toMatchObject({ status: 'exhausted' });
    expect([world.subscriber.seen.length, extended]).toEqual([3, 1]);
  });
});
