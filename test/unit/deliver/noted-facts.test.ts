import { beforeEach, describe, expect, it } from 'vitest';
import { measuresOf } from '../../../shared/adapters/log/journal-measures.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import type { Fact } from '../../../shared/ports/journal.ts';
import { aMessage } from '../../support/builders.ts';
import { type OneSubscriberWorld, subscribedWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

let world: OneSubscriberWorld;

beforeEach(async () => {
  world = await subscribedWorld({ minimum_delay_retries: 1, minimum_delay: 10, maximum_delay: 10 });
});

const noted = (name: Fact['fact']): readonly Fact[] =>
  world.journal.facts.filter(({ fact }) => fact === name);

/** How often each final status was counted by the metrics derived from the logged facts. */
const finalCounts = (): Record<string, number> => {
  const counted: Record<string, number> = {};
  for (const { name, value } of world.journal.facts.flatMap(measuresOf)) {
    if (/^Deliveries(Delivered|Rejected|Exhausted|Cancelled)$/.test(name))
      counted[name] = (counted[name] ?? 0) + value;
  }
  return counted;
};

/** Runs two attempts concurrently: the first one's lease ends before its response. */
const overtakeLease = async (
  first: Parameters<typeof status>[0],
  second: Parameters<typeof status>[0],
): Promise<void> => {
  world.subscriber.script(world.url, [
    status(first, { takesMs: 60_000 }),
    status(second, { takesMs: 60_000 }),
    status(second),
  ]);
  const slow = world.receive(world.job(), 'slow');
  await world.clock.run(world.clock.now() + 25_000);
  const other = world.receive(world.job(), 'other', { receiveCount: 2 });
  await world.clock.run();
  await Promise.all([slow, other]);
};

describe('the logged lateness of an attempt', () => {
  it('counts from when the message was sent, including the wait in the ingress queue', async () => {
    const sentAt = world.clock.now() - 1_234;
    await world.dispatch({ ok: true, message: aMessage() }, '{}', sentAt);
    await world.clock.run();
    expect(noted('attempt_made')).toMatchObject([{ dueAt: sentAt, latenessMs: 1_234 }]);
  });

  it('counts from when the message was due, if it has a delay', async () => {
    const acceptedAt = world.clock.now();
    await world.dispatch({ ok: true, message: aMessage(), delaySeconds: 60 }, '{}', acceptedAt - 5_000);
    await world.clock.run();
    expect(noted('attempt_made')).toMatchObject([{ dueAt: acceptedAt + 60_000, latenessMs: 0 }]);
  });

  it("counts for a retry from its policy's due time", async () => {
    const acceptedAt = world.clock.now();
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.publish();
    expect(noted('attempt_made')[1]).toMatchObject({ dueAt: acceptedAt + 10_000, latenessMs: 0 });
  });
});

describe('a final status', () => {
  it.each([
    [200, { DeliveriesDelivered: 1 }],
    [400, { DeliveriesRejected: 1 }],
    [410, { DeliveriesRejected: 1 }],
    [500, { DeliveriesExhausted: 1 }],
  ])('of a delivery answered with %i is counted once', async (code, expected) => {
    world.subscriber.script(world.url, [status(code)]);
    await world.publish();
    expect(finalCounts()).toEqual(expected);
  });

  it('is counted once although a pending step is repeated', async () => {
    world.subscriber.script(world.url, [status(500)]);
    const send = world.undeliverables.send.bind(world.undeliverables);
    world.undeliverables.send = () => {
      world.undeliverables.send = send;
      return Promise.reject(new Error('throttled'));
    };
    await world.publish();
    expect(world.undeliverables.sent).toHaveLength(1);
    expect(finalCounts()).toEqual({ DeliveriesExhausted: 1 });
  });

  it('is counted once although its job is redelivered', async () => {
    for (let copy = 0; copy < 5; copy += 1) await world.publish();
    expect(finalCounts()).toEqual({ DeliveriesDelivered: 1 });
  });

  it('is counted for a manual cancellation, and not for a repeated one', async () => {
    world.subscriber.script(world.url, [status(500)]);
    await world.publish(1_000);
    await cancelDelivery(world.byHandContext, world.key, 'manual');
    await cancelDelivery(world.byHandContext, world.key, 'manual');
    await world.clock.run();
    expect(finalCounts()).toEqual({ DeliveriesCancelled: 1 });
  });

  it('is counted once if a success arrives after its lease was taken over', async () => {
    await overtakeLease(200, 200);
    expect(noted('late_result')).toMatchObject([{ decisive: true }, { decisive: false }]);
    expect(finalCounts()).toEqual({ DeliveriesDelivered: 1 });
  });

  it('is not counted for a late failure', async () => {
    await overtakeLease(500, 200);
    expect(noted('late_result')).toMatchObject([{ decisive: false }]);
    expect(finalCounts()).toEqual({ DeliveriesDelivered: 1 });
  });
});

describe('the log of a refused message', () => {
  it('names the message if it can be read', async () => {
    await world.dispatch({ ok: true, message: aMessage({ queue: 'unknown' }) });
    expect(noted('message_refused')).toEqual([
      {
        fact: 'message_refused',
        id: 'ingress-1',
        reason: 'unknown_queue',
        message: { queue: 'unknown', messageId: 'message-1' },
      },
    ]);
  });

  it('names the SQS message id if it cannot be read', async () => {
    await world.dispatch({ ok: false, reason: 'not_json' });
    expect(noted('message_refused')).toEqual([
      { fact: 'message_refused', id: 'ingress-1', reason: 'not_json' },
    ]);
  });
});
