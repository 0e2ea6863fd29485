import { beforeEach, describe, expect, it } from 'vitest';
import type { PartialRetryPolicy } from '../../../shared/domain/retry-policy.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const URL = 'https://subscriber.test/hook';

let world: PipelineWorld;

beforeEach(() => {
  world = pipelineWorld();
});

const subscribed = async (policy?: PartialRetryPolicy): Promise<void> => {
  await world.subscriptions.putQueue(aQueue());
  await world.subscriptions.addSubscription(
    aSubscription({ options: policy === undefined ? {} : { _retry_policy: policy } }),
  );
};

const published = async (): Promise<void> => {
  await world.dispatch({ ok: true, message: aMessage() });
  await world.clock.run();
};

const gaps = (): number[] => {
  const times = world.subscriber.seen.map(({ at }) => at);
  return times.slice(1).map((at, index) => (at - (times[index] ?? 0)) / 1000);
};

describe('a delivery', () => {
  it('that is answered with a 2xx at once is delivered by one request, and leaves nothing behind', async () => {
    await subscribed();
    await published();

    expect(world.subscriber.seen).toHaveLength(1);
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1, phase: 'initial', statusCode: 200 }],
    });
    expect(await world.messageRecords.find({ queue: 'orders', messageId: 'message-1' })).not.toHaveProperty(
      'body',
    );
    expect([world.deliveryJobs.waiting, world.retryQueue.waiting, world.undeliverables.sent.length]).toEqual([
      0, 0, 0,
    ]);
  });

  it('sends the data byte for byte as it was published, at every attempt under the same webhook-id', async () => {
    await subscribed();
    world.subscriber.script(URL, [status(503), status(503), status(503), status(503), status(200)]);
    await published();

    const requests = world.subscriber.seen.map(({ request }) => request);
    expect(requests.map(({ body }) => body)).toEqual(
      Array(5).fill(
        '{"id":"message-1","queue":"orders","type":"order.created","timestamp":"2026-01-01T00:00:00.000Z","data":{"total":12345678901234567890,"b":1,"a":2}}',
      ),
    );
    expect(new Set(requests.map(({ headers }) => headers['webhook-id']))).toEqual(new Set(['message-1']));
  });

  it('goes through the four phases at exactly the times of its policy, then is exhausted', async () => {
    await subscribed({
      retries_with_no_delay: 2,
      minimum_delay_retries: 2,
      minimum_delay: 5,
      backoff_retries: 3,
      maximum_delay: 25,
      maximum_delay_retries: 2,
      retry_backoff_function: 'linear',
    });
    world.subscriber.script(URL, [status(500)]);
    await published();

    expect(gaps()).toEqual([0, 0, 5, 5, 5, 15, 25, 25, 25]);
    const { attempts, status: ended, reason } = await world.delivery();
    expect({ ended, reason }).toEqual({ ended: 'exhausted', reason: 'retries_exhausted' });
    expect(attempts.map(({ phase }) => phase)).toEqual([
      'initial',
      ...Array<string>(2).fill('immediate'),
      ...Array<string>(2).fill('pre_backoff'),
      ...Array<string>(3).fill('backoff'),
      ...Array<string>(2).fill('post_backoff'),
    ]);
    expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it('hands an exhausted delivery to the undeliverable queue once, with its message, and owes nothing more', async () => {
    await subscribed(aBarePolicy({ minimum_delay_retries: 1 }));
    world.subscriber.script(URL, [status(500)]);
    await published();

    expect(world.undeliverables.sent).toHaveLength(1);
    expect(world.undeliverables.sent[0]).toMatchObject({
      delivery: { status: 'exhausted', attempts: [{ number: 1 }, { number: 2 }] },
      body: { kind: 'inline', message: { data: aMessage().data } },
    });
    expect(await world.delivery()).toMatchObject({ owed: [], overdueAt: undefined });
  });

  it.each([301, 400, 404, 429])(
    'answered with %i is rejected without a retry, and is undeliverable',
    async (code) => {
      await subscribed();
      world.subscriber.script(URL, [status(code)]);
      await published();

      expect(world.subscriber.seen).toHaveLength(1);
      expect(await world.delivery()).toMatchObject({ status: 'rejected', reason: `http_${code}` });
      expect(world.undeliverables.sent).toHaveLength(1);
    },
  );

  it('answered with a status that the policy lists is retried', async () => {
    await subscribed(aBarePolicy({ minimum_delay_retries: 1, retry_on_status: [429] }));
    world.subscriber.script(URL, [status(429), status(200)]);
    await published();

    expect(gaps()).toEqual([5]);
    expect((await world.delivery()).status).toBe('delivered');
  });

  it('answered with 410 is rejected as gone, and its subscription is disabled', async () => {
    await subscribed();
    world.subscriber.script(URL, [status(410)]);
    await published();

    expect(await world.delivery()).toMatchObject({ status: 'rejected', reason: 'gone', owed: [] });
    expect(await world.subscriptions.findSubscription('orders', 'subscription-1')).toMatchObject({
      disabled: { reason: 'gone' },
    });
  });

  it('to a forbidden address is rejected without a retry', async () => {
    await subscribed();
    world.subscriber.script(URL, [{ kind: 'forbidden' }]);
    await published();

    expect(world.subscriber.seen).toHaveLength(1);
    expect(await world.delivery()).toMatchObject({ status: 'rejected', reason: 'address_forbidden' });
  });
});

describe('the time of a retry', () => {
  it('counts from the end of the failed attempt', async () => {
    await subscribed(aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 7 }));
    world.subscriber.script(URL, [status(500, { takesMs: 4_000 }), status(200)]);
    await published();

    expect(gaps()).toEqual([11]);
  });

  it('is moved later, never earlier, by Retry-After, also for an immediate retry, whose phase is kept', async () => {
    await subscribed(aBarePolicy({ retries_with_no_delay: 1, minimum_delay_retries: 1, minimum_delay: 30 }));
    world.subscriber.script(URL, [
      status(503, { retryAfter: '12' }),
      status(503, { retryAfter: '3' }),
      status(200),
    ]);
    await published();

    expect(gaps()).toEqual([12, 30]);
    expect((await world.delivery()).attempts.map(({ phase }) => phase)).toEqual([
      'initial',
      'immediate',
      'pre_backoff',
    ]);
  });

  it('is not moved beyond the cap by Retry-After, nor at all by a malformed one', async () => {
    await subscribed(aBarePolicy({ minimum_delay_retries: 2 }));
    world.subscriber.script(URL, [
      status(503, { retryAfter: '999999' }),
      status(503, { retryAfter: 'soon' }),
      status(200),
    ]);
    await published();

    expect(gaps()).toEqual([3600, 5]);
  });

  it('of an immediate retry is the same invocation only after a quick failure; after a slow one the retry queue brings it', async () => {
    await subscribed(aBarePolicy({ retries_with_no_delay: 2 }));
    world.subscriber.script(URL, [
      status(500, { takesMs: 1_999 }),
      status(500, { takesMs: 2_000 }),
      status(200),
    ]);
    await published();

    const set = world.journal.facts.filter(({ fact }) => fact === 'wake_up_set');
    expect(set).toMatchObject([{ attempt: 3, by: 'sqs_delay' }]);
    expect((await world.delivery()).attempts.map(({ phase }) => phase)).toEqual([
      'initial',
      'immediate',
      'immediate',
    ]);
  });

  it('goes by SQS below the threshold and by one schedule at or above it, landing on the second either way', async () => {
    await subscribed(
      aBarePolicy({
        retry_backoff_function: 'linear',
        backoff_retries: 3,
        minimum_delay: 89,
        maximum_delay: 91,
      }),
    );
    world.subscriber.script(URL, [status(500)]);
    await published();

    expect(gaps()).toEqual([89, 90, 91]);
    expect(world.schedules.map(({ wakeUp }) => wakeUp.attempt)).toEqual([3, 4]);
    expect(world.schedules.map(({ at, wakeUp }) => (wakeUp.dueAt - at) / 1000)).toEqual([65, 65]);
  });

  it('is kept by hops of DelaySeconds when a schedule is refused', async () => {
    await subscribed(aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 2_000, maximum_delay: 2_000 }));
    world.wakeUps.schedule = () => Promise.resolve('refused');
    world.subscriber.script(URL, [status(500), status(200)]);
    await published();

    expect(gaps()).toEqual([2_000]);
    expect(world.journal.facts).toContainEqual(
      expect.objectContaining({ fact: 'schedule_refused', attempt: 2 }),
    );
  });
});

describe('what changes while a schedule is under way', () => {
  it('is read afresh for each retry: a new URL is called, a deleted subscription cancels', async () => {
    await subscribed(aBarePolicy({ minimum_delay_retries: 3 }));
    world.subscriber.script(URL, [status(500)]);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(world.clock.now() + 1_000);
    await world.subscriptions.deleteSubscription('orders', 'subscription-1');
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(1);
    expect(await world.delivery()).toMatchObject({
      status: 'cancelled',
      reason: 'subscription_deleted',
      overdueAt: undefined,
    });
  });

  it('does not reshape it: the policy of the first failure stays in force', async () => {
    await subscribed(aBarePolicy({ minimum_delay_retries: 2 }));
    world.subscriber.script(URL, [status(500)]);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(world.clock.now() + 1_000);
    await world.subscriptions.deleteSubscription('orders', 'subscription-1');
    await world.subscriptions.addSubscription(aSubscription({ options: { _retry_policy: aBarePolicy() } }));
    await world.clock.run();

    expect(gaps()).toEqual([5, 5]);
  });

  it('disables: what is not sent is cancelled with its message kept', async () => {
    await subscribed();
    await world.subscriptions.disable('orders', 'subscription-1', { reason: 'gone', at: 0 });
    await published();

    expect(world.subscriber.seen).toHaveLength(0);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'disabled' });
    expect(await world.messageRecords.find({ queue: 'orders', messageId: 'message-1' })).toHaveProperty(
      'body',
    );
  });

  it('expires: a message is not attempted after its time to live', async () => {
    await subscribed(aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 10 }));
    world.subscriber.script(URL, [status(500)]);
    await world.dispatch({ ok: true, message: aMessage({ expiresAt: world.clock.now() + 15_000 }) });
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(2);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'message_expired' });
  });
});
