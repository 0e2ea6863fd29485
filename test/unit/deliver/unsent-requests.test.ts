import { describe, expect, it } from 'vitest';
import { RequestNotSentError } from '../../../shared/ports/subscriber.ts';
import { aBarePolicy, aMessage } from '../../support/builders.ts';
import { chunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { oneSubscriberWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status, type ScriptedSubscriber } from '../../support/in-memory/scripted-subscriber.ts';

const MINUTE_MS = 60_000;

/** Makes sending fail for these URLs until `isOver` is set. */
const outageOf = (subscriber: ScriptedSubscriber, isOut: (url: string) => boolean) => {
  const send = subscriber.post.bind(subscriber);
  const outage = { isOver: false };
  subscriber.post = (request, timeoutMs) =>
    !outage.isOver && isOut(request.url)
      ? Promise.reject(new RequestNotSentError('EMFILE'))
      : send(request, timeoutMs);
  return outage;
};

describe('a request that cannot be sent because of an internal fault', () => {
  it('is neither an attempt nor lost, and is sent when its message is redelivered', async () => {
    const world = oneSubscriberWorld();
    await world.subscribe();
    const outage = outageOf(world.subscriber, () => true);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(world.clock.now() + MINUTE_MS);
    const waiting = await world.delivery();
    expect(waiting).toMatchObject({ status: 'pending', attempts: [], lost: 0 });
    expect(waiting.lease).toBeUndefined();
    expect(world.deliveryJobs.waiting).toBe(1);

    outage.isOver = true;
    await world.clock.run();
    const delivered = await world.delivery();
    expect(delivered).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }], lost: 0 });
    expect(delivered.attempts[0]).not.toHaveProperty('lost');
  });

  it('keeps the number of its retry', async () => {
    const world = oneSubscriberWorld();
    await world.subscribe(aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 10 }));
    world.subscriber.script(world.url, [status(503), status(200)]);
    const outage = outageOf(world.subscriber, () => world.subscriber.seen.length === 1);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(world.clock.now() + MINUTE_MS);
    expect(await world.delivery()).toMatchObject({ status: 'retrying', next: { number: 2 }, lost: 0 });

    outage.isOver = true;
    await world.clock.run();
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      attempts: [{ outcome: 'failed' }, { outcome: 'delivered' }],
    });
  });

  it('does not delay other members of its chunk', async () => {
    const world = await chunkedWorld(3);
    const outage = outageOf(world.subscriber, (url) => url === world.urlOf('s-2'));
    await world.publish();
    await world.until(MINUTE_MS);
    expect(world.requests()).toEqual([1, 0, 1]);
    for (const id of ['s-1', 's-3']) expect((await world.delivery(id)).status).toBe('delivered');
    expect(await world.delivery('s-2')).toMatchObject({ status: 'pending', attempts: [], lost: 0 });

    outage.isOver = true;
    await world.clock.run();
    expect(world.requests()).toEqual([1, 1, 1]);
    expect(await world.delivery('s-2')).toMatchObject({ status: 'delivered', lost: 0 });
    expect(world.deliveryJobs.waiting).toBe(0);
  });
});
