import { beforeEach, describe, expect, it } from 'vitest';
import { numbered, pressedWorld, type PressedWorld } from '../../support/in-memory/pressed-world.ts';
import { pipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const OFF = { adaptToThrottling: false, holdWhileDown: false };

let pressed: PressedWorld;

beforeEach(() => {
  pressed = pressedWorld(pipelineWorld(), OFF);
});

/** Seconds from the first request to each further one. */
const retriedAfter = (messageId: string): number[] => {
  const { seen } = pressed.world.subscriber;
  const own = seen.filter(({ request }) => request.headers['webhook-id'] === messageId).map(({ at }) => at);
  return own.map((at) => Math.round((at - (own[0] ?? NaN)) / 100) / 10).slice(1);
};

describe('without switches, what one delivery meets delays no other', () => {
  it.each([
    ['503', status(503, { takesMs: 20 })],
    ['503 with Retry-After', status(503, { takesMs: 20, retryAfter: '3' })],
    ['429 that the policy retries', status(429, { takesMs: 20 })],
    ['no connection', { kind: 'unanswered', error: 'connection_refused' } as const],
  ])('100 deliveries to a subscriber that always answers %s follow their policy', async (_, reply) => {
    const policy = { minimum_delay_retries: 2, minimum_delay: 5, retry_on_status: [429] };
    await pressed.subscribe({}, policy);
    pressed.world.subscriber.script(pressed.url, [reply]);
    const ids = numbered(100);
    await pressed.publish(...ids);
    await pressed.world.clock.run();

    expect(pressed.world.subscriber.seen).toHaveLength(300);
    for (const id of ids) {
      expect(retriedAfter(id)).toEqual([expect.closeTo(5, 0), expect.closeTo(10, 0)]);
      expect(await pressed.deliveryOf(id)).toMatchObject({ status: 'exhausted' });
    }
    expect(await pressed.pressure()).toBeUndefined();
    expect(pressed.events()).toEqual([]);
  });

  it('a 429 is what the policy says: rejected, unless it is listed', async () => {
    await pressed.subscribe({}, { minimum_delay_retries: 1 });
    pressed.world.subscriber.script(pressed.url, [status(429)]);
    await pressed.publish('rejected');
    await pressed.world.clock.run();
    expect((await pressed.deliveryOf('rejected')).status).toBe('rejected');
  });

  it('with adapt_to_throttling alone, an outage opens no circuit', async () => {
    await pressed.subscribe({ adapt_to_throttling: true }, { minimum_delay_retries: 2 });
    pressed.world.subscriber.script(pressed.url, [status(503, { takesMs: 20 })]);
    await pressed.publish(...numbered(30));
    await pressed.world.clock.run();
    expect(pressed.world.subscriber.seen).toHaveLength(90);
    expect(await pressed.pressure()).toBeUndefined();
  });

  it('with hold_while_down alone, a 429 slows no other delivery', async () => {
    const policy = { minimum_delay_retries: 2, minimum_delay: 5, retry_on_status: [429] };
    await pressed.subscribe({ hold_while_down: true }, policy);
    pressed.world.subscriber.script(pressed.url, [status(429, { takesMs: 20, retryAfter: '1' })]);
    await pressed.publish(...numbered(30));
    await pressed.world.clock.run();
    expect(pressed.world.subscriber.seen).toHaveLength(90);
    expect(await pressed.pressure()).toBeUndefined();
  });

  it('with hold_while_down alone, 503 with Retry-After counts as an outage', async () => {
    await pressed.subscribe({ hold_while_down: true }, { minimum_delay_retries: 20, minimum_delay: 5 });
    pressed.world.subscriber.script(pressed.url, [status(503, { takesMs: 20, retryAfter: '1' })]);
    await pressed.publish(...numbered(30));
    await pressed.runFor(60_000);
    expect(await pressed.pressure()).toMatchObject({ state: 'held' });
  });
});
