import { beforeEach, describe, expect, it, vi } from 'vitest';
import { measuresOf } from '../../../shared/adapters/log/journal-measures.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import type { Fact } from '../../../shared/ports/journal.ts';
import { aMessage } from '../../support/builders.ts';
import { oneSubscriberWorld, type OneSubscriberWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

let world: OneSubscriberWorld;

beforeEach(async () => {
  world = oneSubscriberWorld();
  await world.subscribe({ minimum_delay_retries: 1, minimum_delay: 10, maximum_delay: 10 });
});

const noted = (name: Fact['fact']): readonly Fact[] =>
  world.journal.facts.filter(({ fact }) => fact === name);

/** How often each final status was counted by the metrics derived from the logged facts. */
const finalCounts = (): Record<string, number> => {
  const counted: Record<string, number> = {};
  for (const { name, value } of world.journal.facts.flatMap(measuresOf))
    if (/^Deliveries(Delivered|Rejected|Exhausted|Cancelled)$/.test(name))
      counted[name] = (counted[name] ?? 0) + value;
  return counted;
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
    await world.deliver();
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
    await world.deliver();
    expect(finalCounts()).toEqual(expected);
  });

  it('is counted once although a pending step is repeated', async () => {
    world.subscriber.script(world.url, [status(500)]);
    vi.spyOn(world.undeliverables, 'send').mockRejectedValueOnce(new Error('throttled'));
    await world.deliver();
    expect(world.undeliverables.sent).toHaveLength(1);
    expect(finalCounts()).toEqual({ DeliveriesExhausted: 1 });
  });

  it('is counted once although its job is redelivered', async () => {
    for (let copy = 0; copy < 5; copy += 1) await world.deliver();
    expect(finalCounts()).toEqual({ DeliveriesDelivered: 1 });
  });

  it('is counted for a manual cancellation, and not for a repeated one', async () => {
    world.subscriber.script(world.url, [status(500)]);
    await world.publish();
    await world.runFor(1_000);
    await cancelDelivery(world.byHandContext, world.key, 'manual');
    await cancelDelivery(world.byHandContext, world.key, 'manual');
    await world.clock.run();
    expect(finalCounts()).toEqual({ DeliveriesCancelled: 1 });
  });

  it.each([
    ['is counted once if a success arrives after its lease was taken over', 200, [true, false]],
    ['is not counted for a late failure', 500, [false]],
  ])('%s', async (_, late, decisive) => {
    world.subscriber.script(world.url, [
      status(late, { takesMs: 60_000 }),
      status(200, { takesMs: 60_000 }),
      status(200),
    ]);
    const slow = world.receive(world.job(), 'slow');
    await world.runFor(25_000);
    const other = world.receive(world.job(), 'other', { receiveCount: 2 });
    await world.clock.run();
    await Promise.all([slow, other]);

    expect(noted('late_result').map((fact) => 'decisive' in fact && fact.decisive)).toEqual(decisive);
    expect(finalCounts()).toEqual({ DeliveriesDelivered: 1 });
  });
});
