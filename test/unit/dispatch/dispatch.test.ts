import { beforeEach, describe, expect, it } from 'vitest';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const DAY = 86_400_000;
const key = { queue: 'orders', messageId: 'message-1' };

let world: PipelineWorld;

beforeEach(async () => {
  world = pipelineWorld();
  await world.subscriptions.putQueue(aQueue());
});

const subscribe = (count: number, more: Parameters<typeof aSubscription>[0] = {}): Promise<unknown> =>
  Promise.all(
    Array.from({ length: count }, (_, index) =>
      world.subscriptions.addSubscription(
        aSubscription({
          id: `subscription-${index + 1}`,
          subscriber: `https://subscriber.test/${index + 1}`,
          ...more,
        }),
      ),
    ),
  );

describe('dispatch', () => {
  it('makes one delivery per subscription of the queue', async () => {
    await subscribe(7);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run();

    expect(new Set(world.subscriber.seen.map(({ request }) => request.url)).size).toBe(7);
    expect(await world.messageRecords.find(key)).toMatchObject({ matched: 7, duplicates: 0, buckets: 1 });
  });

  it('records a message without matching subscriptions', async () => {
    await world.dispatch({ ok: true, message: aMessage() });

    expect(await world.messageRecords.find(key)).toMatchObject({ matched: 0 });
  });

  it('spreads a fan-out of 600 over three partition keys, each delivery once', async () => {
    await subscribe(600);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run();

    const deliveries = world.chunks.deliveries();
    expect(deliveries).toHaveLength(600);
    const perBucket = [0, 1, 2].map((bucket) => deliveries.filter((one) => one.key.bucket === bucket).length);
    expect(Math.min(...perBucket)).toBeGreaterThan(100);
    expect(world.subscriber.seen).toHaveLength(600);
  });

  it('counts a redelivered message and completes what a crash left undone, without repeated requests', async () => {
    await subscribe(3);
    const { deliveryQueue } = world.dispatchContext.ports;
    const send = deliveryQueue.send.bind(deliveryQueue);
    world.dispatchContext.ports.deliveryQueue.send = async (jobs, delaySeconds) => {
      world.dispatchContext.ports.deliveryQueue.send = send;
      await send(jobs.slice(0, 1), delaySeconds);
      throw new Error('crash');
    };
    await expect(world.dispatch({ ok: true, message: aMessage() })).rejects.toThrow('crash');
    await world.clock.run();
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(3);
    expect(await world.messageRecords.find(key)).toMatchObject({ matched: 3, duplicates: 1 });
  });

  it('does not send a redelivery to a subscription created after the message was accepted', async () => {
    await subscribe(1);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(world.clock.now() + 60_000);
    await world.subscriptions.addSubscription(
      aSubscription({
        id: 'newcomer',
        subscriber: 'https://subscriber.test/new',
        createdAt: world.clock.now(),
      }),
    );
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run();

    expect(world.subscriber.seen.map(({ request }) => request.url)).toEqual(['https://subscriber.test/1']);
  });

  it('sends a message only after its delay', async () => {
    await subscribe(1);
    const before = world.clock.now();
    await world.dispatch({ ok: true, message: aMessage(), delaySeconds: 40 });
    await world.clock.run();

    expect(world.subscriber.seen.map(({ at }) => at - before)).toEqual([40_000]);
  });

  it.each([
    { reading: { ok: false, reason: 'not_json' } as const, reason: 'not_json' },
    { reading: { ok: true as const, message: aMessage({ queue: 'nowhere' }) }, reason: 'unknown_queue' },
  ])(
    'dead-letters an undeliverable message unchanged, with the reason $reason',
    async ({ reading, reason }) => {
      await world.dispatch(reading, 'the very bytes');

      expect(world.deadLetters.sent).toMatchObject([{ id: 'ingress-1', body: 'the very bytes', reason }]);
      expect(world.deliveryJobs.waiting).toBe(0);
    },
  );

  it('stores a body over 64 KB in the payload bucket, also for retries', async () => {
    const data = `"${'x'.repeat(100_000)}"`;
    await subscribe(2, { options: { _retry_policy: aBarePolicy({ minimum_delay_retries: 1 }) } });
    world.subscriber.script('https://subscriber.test/1', [status(500), status(200)]);
    await world.dispatch({ ok: true, message: aMessage({ data }) });
    await world.clock.run();

    expect(world.payloads.stored.size).toBe(1);
    expect(world.subscriber.seen).toHaveLength(3);
    expect(world.subscriber.seen.every(({ request }) => request.body.includes(data))).toBe(true);
  });

  it.each([
    { size: 8_000, kind: 'inline' },
    { size: 9_000, kind: 'stored' },
  ])('stores a failing message of $size bytes $kind', async ({ size, kind }) => {
    await subscribe(1);
    world.subscriber.script('https://subscriber.test/1', [status(400)]);
    await world.dispatch({ ok: true, message: aMessage({ data: `"${'x'.repeat(size)}"` }) });
    await world.clock.run();

    expect(await world.messageRecords.find(key)).toMatchObject({ body: { kind } });
  });

  it.each([1, 2])(
    'keeps the record of a message longer than those of its %i deliveries that are four days late',
    async (count) => {
      await subscribe(count);
      const { deliveryQueue } = world.dispatchContext.ports;
      const send = deliveryQueue.send.bind(deliveryQueue);
      deliveryQueue.send = (jobs) => send(jobs, (4 * DAY) / 1000);
      await world.dispatch({ ok: true, message: aMessage() });
      await world.clock.run();

      const { expiresAt = 0 } = (await world.messageRecords.find(key)) ?? {};
      expect(expiresAt - (await world.delivery()).expiresAt).toBeGreaterThan(2 * DAY);
    },
  );

  it.each([
    ['all', 'failed', true],
    ['failed', 'all', false],
    ['some', 'all', true],
  ] as const)(
    'stores it by the queue: _retain_messages %s in a deployment that keeps %s',
    async (queue, deployment, isKept) => {
      world.settings.retainMessages = deployment;
      await world.subscriptions.putQueue(aQueue({ metadata: { _retain_messages: queue } }));
      await subscribe(1);
      await world.dispatch({ ok: true, message: aMessage() });

      expect((await world.messageRecords.find(key))?.body !== undefined).toBe(isKept);
    },
  );
});
