import { beforeEach, describe, expect, it, vi } from 'vitest';
import { eraseBody } from '../../../functions/api/messages/messages.ts';
import { deliverRecord, deliveryIdsIn } from '../../../functions/deliver/deliver.ts';
import { asEnabled, moveTo } from '../../../shared/domain/subscription/change.ts';
import { parseDestination } from '../../../shared/domain/subscription/destination.ts';
import { RequestNotSentError } from '../../../shared/ports/subscriber.ts';
import { encodeFirstJob } from '../../../shared/wire/jobs/delivery-job.ts';
import { aMessage } from '../../support/builders.ts';
import { aChunkKey } from '../../support/chunk-builders.ts';
import { oneSubscriberWorld, type OneSubscriberWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { anInvocation, anSqsRecord } from '../../support/sqs-event.ts';
import { pullWorld } from '../api/pull-world.ts';

const MINUTE_MS = 60_000;
const fault = new Error('throttled');
let world: OneSubscriberWorld;

beforeEach(() => {
  world = oneSubscriberWorld();
});

const lost = async (): Promise<number[]> => (await world.delivery()).attempts.map((one) => one.lost ?? 0);

describe('an internal fault', () => {
  /** Publishes and runs for one minute, without reconcile. */
  const publish = async (data = '{}'): Promise<void> => {
    await world.dispatch({ ok: true, message: aMessage({ data }) });
    await world.runFor(MINUTE_MS);
  };

  it('while reading the message after the claim costs under a minute and no lost attempt', async () => {
    vi.spyOn(world.payloads, 'get').mockRejectedValueOnce(fault);
    await world.subscribe();
    await publish(JSON.stringify('x'.repeat(70_000)));

    expect(await world.delivery()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    expect(await lost()).toEqual([0]);
  });

  it('before an immediate retry costs under a minute and no lost attempt', async () => {
    await world.subscribe({ retries_with_no_delay: 1 });
    world.subscriber.script(world.url, [status(503), status(200)]);
    const find = vi.spyOn(world.subscriptions, 'find');
    vi.spyOn(world.subscriber, 'onRequest').mockImplementationOnce(() => {
      find.mockRejectedValueOnce(fault);
      return Promise.resolve();
    });
    await publish();

    expect(await world.delivery()).toMatchObject({ status: 'delivered' });
    expect(await lost()).toEqual([0, 0]);
  });

  it('while reading an erased message costs under a minute and no lost attempt', async () => {
    await world.subscribe({ minimum_delay_retries: 1, minimum_delay: 5 });
    world.subscriber.script(world.url, [status(503)]);
    world.subscriber.onRequest = async () => {
      await eraseBody(world, { queue: 'orders', messageId: 'message-1' });
    };
    vi.spyOn(world.messageRecords, 'find').mockRejectedValueOnce(fault);
    await publish();

    const delivery = await world.delivery();
    expect(delivery).toMatchObject({ status: 'cancelled', reason: 'body_erased', lost: 0 });
    expect(delivery.updatedAt - world.startedAt).toBeLessThan(10_000);
  });

  it('while recording a retry has it repeated after its lease ends, and counted as lost', async () => {
    await world.subscribe({ minimum_delay_retries: 1, minimum_delay: 5 });
    world.subscriber.script(world.url, [status(503), status(200)]);
    const write = vi.spyOn(world.deliveries, 'write');
    world.subscriber.onRequest = (_request, count) => {
      if (count === 2) write.mockRejectedValueOnce(fault);
      return Promise.resolve();
    };
    await publish();

    expect(world.subscriber.seen).toHaveLength(3);
    expect(await world.delivery()).toMatchObject({ status: 'delivered' });
    expect(await lost()).toEqual([0, 1]);
  });

  it.each([10, 180])('of %i minutes creates no dead letter, and delivery resumes soon', async (minutes) => {
    await world.subscribe();
    const find = vi.spyOn(world.subscriptions, 'find').mockRejectedValue(fault);
    world.clock.at(world.startedAt + minutes * MINUTE_MS, find.mockRestore.bind(find));
    await publish();
    await world.clock.run(world.startedAt + (minutes + 8) * MINUTE_MS);

    expect(world.deliveryJobs.deadLetters).toBe(0);
    expect(await world.delivery()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
  });
});

describe('the pending steps', () => {
  it('of an exhausted delivery publish its attempts and end, and are completed by one write', async () => {
    const write = vi.spyOn(world.deliveries, 'write');
    await world.subscribe();
    await world.answer(status(500, { takesMs: 700 }));
    const { key } = await world.delivery();
    const event = { type: 'delivery.exhausted', key, attempts: 1, at: world.startedAt + 700 };
    expect(world.operatorEvents.published).toEqual([event]);
    expect(world.undeliverables.sent).toHaveLength(1);
    expect(write.mock.calls.map(([{ name }]) => name)).toEqual(['open', 'record', 'settle']);
    expect(world.journal.facts).toContainEqual({ fact: 'operator_event_sent', event });
  });

  it.each([
    ['exhausted_event', () => vi.spyOn(world.operatorEvents, 'publish')],
    ['undeliverable', () => vi.spyOn(world.undeliverables, 'send')],
  ] as const)('of which %s fails keep only that one, until it is repeated', async (kind, spyOnStep) => {
    await world.subscribe();
    spyOnStep().mockRejectedValueOnce(fault);
    world.subscriber.script(world.url, [status(500)]);
    await world.publish();
    await world.runFor(1_000);
    const ended = await world.delivery();
    expect(ended).toMatchObject({ status: 'exhausted', pendingSteps: [{ kind }] });
    expect(ended.overdueAt).toBeDefined();

    await world.clock.run();
    expect(await world.delivery()).toMatchObject({ pendingSteps: [], overdueAt: undefined });
    expect(world.operatorEvents.published).toMatchObject([{ type: 'delivery.exhausted' }]);
    expect(world.undeliverables.sent).toHaveLength(1);
  });

  describe('after an answer that disables the subscription', () => {
    const enable = () => world.change((current) => asEnabled(current, world.clock.now()));
    const disable = () =>
      world.subscriptions.disable('orders', 'subscription-1', { reason: 'manual', at: 1 });

    it.each([
      ['disable it, and publish one event with the time of the first answer', undefined],
      ['do the same if the event cannot be published at first', fault],
    ])('%s', async (_, refusal) => {
      await world.subscribe({}, { version: world.startedAt + 5_000 });
      const publish = vi.spyOn(world.operatorEvents, 'publish');
      if (refusal !== undefined) publish.mockRejectedValueOnce(refusal);
      const at = world.startedAt + 100;
      world.subscriber.script(world.url, [status(410, { takesMs: 100 }), status(410, { takesMs: 200 })]);
      await world.deliver('message-1', 'message-2');

      expect((await world.subscription()).disabled).toEqual({ reason: 'gone', at });
      expect(world.operatorEvents.published).toEqual([
        { type: 'subscription.disabled', ...world.name, reason: 'gone', at },
      ]);
      for (const id of ['message-1', 'message-2'])
        expect(await world.deliveryOf(id)).toMatchObject({ pendingSteps: [] });
    });

    it('disable a subscription whose success asked for it, also if that fails at first', async () => {
      await world.subscribe();
      vi.spyOn(world.subscriptions, 'disable').mockRejectedValueOnce(fault);
      await world.answer(status(204, { asks: 'disable', takesMs: 100 }));
      const disabled = { reason: 'disable_requested', at: world.startedAt + 100 };
      expect((await world.subscription()).disabled).toEqual(disabled);
      expect(world.operatorEvents.published).toMatchObject([disabled]);
      expect(await world.delivery()).toMatchObject({ status: 'delivered', pendingSteps: [] });
    });

    it.each([
      ['enabled', enable, undefined],
      ['disabled by hand', disable, 'manual'],
    ])(
      'change nothing about a subscription that was %s before they are repeated',
      async (_, change, reason) => {
        await world.subscribe();
        vi.spyOn(world.subscriptions, 'disable').mockImplementationOnce(async () => {
          await change();
          throw fault;
        });
        await world.answer(status(410));
        expect((await world.subscription()).disabled?.reason).toBe(reason);
        expect(world.operatorEvents.published).toEqual([]);
        expect(await world.delivery()).toMatchObject({
          status: 'rejected',
          reason: 'gone',
          pendingSteps: [],
        });
      },
    );

    it('do not disable a subscription whose old URL came from a cache', async () => {
      await world.subscribe();
      const old = await world.subscriptions.find('orders', 'subscription-1', 'fresh');
      await world.change((current) =>
        moveTo(parseDestination('https://subscriber.test/new'), current, world.clock.now()),
      );
      await world.runFor(2_000);
      const find = world.subscriptions.find.bind(world.subscriptions);
      world.subscriptions.find = (queue, id, freshness) =>
        freshness === 'cached' ? Promise.resolve(old) : find(queue, id, freshness);
      await world.answer(status(410));
      expect(world.subscriber.seen.map(({ request }) => request.url)).toEqual([world.url]);
      expect(await world.subscription()).not.toHaveProperty('disabled');
    });
  });
});

describe('an SQS message that is received twice concurrently', () => {
  const never = new Promise<never>(() => undefined);

  it('is not lost if the lease holder crashes after the other receive was acknowledged', async () => {
    await world.subscribe();
    vi.spyOn(world.subscriber, 'onRequest').mockReturnValueOnce(never);
    void world.receive(world.job(), 'holder');
    await world.runFor(1_000);
    await world.receive(world.job(), 'copy', { receiveCount: 2 });
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(2);
    expect(await world.delivery()).toMatchObject({ status: 'delivered' });
    expect(await lost()).toEqual([1]);
  });

  it('is sent again if the copy took the lease before its release was repeated, and then crashes', async () => {
    await world.subscribe();
    vi.spyOn(world.subscriber, 'onRequest').mockReturnValueOnce(never);
    const write = world.deliveries.write.bind(world.deliveries);
    world.deliveries.write = async (transition) => {
      const result = await write(transition);
      if (transition.name === 'open' && result.kind === 'written') await world.clock.sleep(3_100);
      if (transition.name !== 'release') return result;
      await world.clock.sleep(500);
      return write(transition);
    };
    const postponed = world.receive(world.job(), 'postponed');
    await world.runFor(3_200);
    void world.receive(world.job(), 'copy');
    await world.clock.run();
    await postponed;

    expect(await world.delivery()).toMatchObject({ status: 'delivered' });
    expect(await lost()).toEqual([1]);
  });

  it('makes an immediate retry at the end of its lease if the holder crashes during it', async () => {
    await world.subscribe({ retries_with_no_delay: 1 });
    world.subscriber.script(world.url, [status(500), status(200)]);
    world.subscriber.onRequest = (_request, count) => (count === 2 ? never : Promise.resolve());
    vi.spyOn(world.deliveryJobs, 'send').mockReturnValueOnce();
    await world.publish();
    void world.receive(world.job(), 'holder');
    await world.runFor(1_000);
    await world.receive(world.job(), 'copy', { receiveCount: 2 });
    await world.clock.run();

    expect(await world.delivery()).toMatchObject({ status: 'delivered' });
    expect(await lost()).toEqual([0, 1]);
  });

  it('is found by reconcile if the copy crashes after the slow receive recorded a late failure', async () => {
    await world.subscribe();
    await world.messageRecords.accept({
      key: { queue: 'orders', messageId: 'message-1' },
      acceptedAt: world.startedAt,
      listedAt: world.startedAt,
      matched: 1,
      filtered: 0,
      duplicates: 0,
      buckets: 1,
      expiresAt: Infinity,
    });
    world.subscriber.script(world.url, [status(500, { takesMs: 60_000 }), status(200)]);
    world.subscriber.onRequest = (_request, count) => (count === 2 ? never : Promise.resolve());
    const slow = world.receive(world.job(), 'slow');
    await world.runFor(30_000);
    void world.receive(world.job(), 'copy', { receiveCount: 2 });
    await world.clock.run();
    await slow;
    expect(world.subscriber.seen).toHaveLength(2);
    await world.runFor(60_000);
    await world.reconcile();
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(3);
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      lateResults: [{ outcome: 'failed' }],
    });
    expect(await lost()).toEqual([2]);
  });
});

describe('a lease that a slow call left too short for a request and its record', () => {
  it.each([
    ['is released, and the next invocation makes the first attempt at once', 1, 3_100, [3.1]],
    ['is used if it is still long enough', 1, 2_900, [2.9]],
    ['is not used for an immediate retry', 2, 3_100, [0, 3.1]],
  ])('%s', async (_, slowWrite, takesMs, requestedAt) => {
    await world.subscribe({ retries_with_no_delay: 1 });
    world.subscriber.script(world.url, slowWrite === 1 ? [status(200)] : [status(500), status(200)]);
    const write = world.deliveries.write.bind(world.deliveries);
    let writes = 0;
    world.deliveries.write = async (transition) => {
      writes += 1;
      const isSlow = writes === slowWrite;
      const result = await write(transition);
      if (isSlow) await world.clock.sleep(takesMs);
      return result;
    };
    await world.deliver();

    expect(world.requestedAt()).toEqual(requestedAt);
    expect(world.facts('sent_again')).toHaveLength(takesMs > 3_000 ? 1 : 0);
    expect(await world.delivery()).toMatchObject({ status: 'delivered' });
    expect(await lost()).toEqual(requestedAt.map(() => 0));
  });
});

/** Delays a retry, and takes this long to record each attempt. */
const retryAfterSlowRecords = async (delaySeconds: number, takesMs: number) => {
  await world.subscribe({ minimum_delay_retries: 1, minimum_delay: delaySeconds, maximum_delay: 200 });
  world.subscriber.script(world.url, [status(500), status(200)]);
  const write = world.deliveries.write.bind(world.deliveries);
  world.deliveries.write = async (transition) => {
    const result = await write(transition);
    if (transition.name === 'record') await world.clock.sleep(takesMs);
    return result;
  };
  await world.deliver();
  const [failed] = world.facts('attempt_made');
  return { recorded: failed?.nextBy, sent: (await world.delivery()).attempts[1]?.by };
};

describe('the wake-up of a retry whose delay is the threshold for schedules', () => {
  it('is sent as recorded, although less time than the threshold is left after a slow record', async () => {
    expect(await retryAfterSlowRecords(90, 800)).toEqual({ recorded: 'scheduler', sent: 'scheduler' });
    expect(world.requestedAt()).toEqual([0, 90]);
  });

  it('is delayed by SQS if a schedule could fire too late by now', async () => {
    expect(await retryAfterSlowRecords(90, 21_000)).toEqual({ recorded: 'scheduler', sent: 'sqs_delay' });
    expect(world.requestedAt()).toEqual([0, 90]);
  });
});

describe('a request that cannot be sent because of an internal fault', () => {
  it.each([
    ['is neither an attempt nor lost', [status(200)], { status: 'pending', attempts: [], lost: 0 }],
    [
      'keeps the number of its retry',
      [status(503), status(200)],
      { status: 'retrying', next: { number: 2 }, lost: 0 },
    ],
  ])('%s, and is sent when its message is redelivered', async (_, replies, waiting) => {
    await world.subscribe({ minimum_delay_retries: 1, minimum_delay: 10 });
    const send = world.subscriber.post.bind(world.subscriber);
    const post = vi
      .spyOn(world.subscriber, 'post')
      .mockImplementation((...request) =>
        world.subscriber.seen.length === replies.length - 1
          ? Promise.reject(new RequestNotSentError('EMFILE'))
          : send(...request),
      );
    world.subscriber.script(world.url, [replies[0] ?? status(200), ...replies.slice(1)]);
    await world.publish();
    await world.runFor(MINUTE_MS);
    const { lease, ...delivery } = await world.delivery();
    expect(delivery).toMatchObject(waiting);
    expect(lease).toBeUndefined();

    post.mockRestore();
    await world.clock.run();
    expect((await world.delivery()).status).toBe('delivered');
    expect(await lost()).toEqual(replies.map(() => 0));
  });
});

it('a message that cannot be read is dead-lettered with the reason, and acknowledged', async () => {
  await deliverRecord(world.deliverContext, anSqsRecord('{'), anInvocation(30_000));
  expect(world.deadLetters.sent).toMatchObject([{ reason: 'not_json' }]);
});

it('the log names the delivery of a record, the message of a chunk, and nothing of an unreadable record', () => {
  const { queue, messageId, subscriptionId } = world.key;
  const chunk = { ...world.job(), kind: 'chunk', key: aChunkKey(), subscriptionIds: ['a'] } as const;
  const idsIn = (body: string) => deliveryIdsIn(anSqsRecord(body));
  expect(idsIn(encodeFirstJob(world.job()))).toEqual({ queue, messageId, subscriptionId });
  expect(idsIn(encodeFirstJob(chunk))).toEqual({ queue: chunk.key.queue, messageId: chunk.key.messageId });
  expect(idsIn('{')).toEqual({});
});

const unrendered = () => Promise.resolve({ kind: 'unrendered', detail: 'no such field' } as const);

const rejected = {
  status: 'rejected',
  reason: 'payload_failed',
  attempts: [{ outcome: 'rejected', result: { kind: 'unrendered', detail: 'no such field' } }],
};

it('a delivery whose payload cannot be rendered ends as rejected, and nothing is sent', async () => {
  world.deliverContext.ports.render = unrendered;
  await world.subscribe();
  await world.deliver();

  expect(await world.delivery()).toMatchObject({ ...rejected, pendingSteps: [] });
  expect(world.subscriber.seen).toEqual([]);
  expect(world.undeliverables.sent).toHaveLength(1);
});

it('a delivery by pull whose payload cannot be rendered ends when it is received, and is not given out', async () => {
  const world = await pullWorld();
  world.api.dependencies.render = unrendered;
  await world.publish();
  await world.later(60_000);
  expect(await world.receive()).toEqual([]);
  expect(await world.delivery()).toMatchObject({ ...rejected, pendingSteps: [{ kind: 'undeliverable' }] });
  expect(await world.receive()).toEqual([]);
});
