import { beforeEach, describe, expect, it } from 'vitest';
import { newDelivery } from '../../../shared/domain/delivery/claim.ts';
import { buildConfirmationId } from '../../../shared/domain/subscription/confirmation.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { reopenDelivery, retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import type { Pause } from '../../../shared/domain/subscription/pause.ts';
import { pause, resume } from '../../../shared/domain/subscription/pause.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { addSubscription } from '../../support/add-subscription.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { toSubscriber } from '../../../shared/domain/subscription/destination.ts';
import { type PipelineWorld, pipelineWorld } from '../../support/in-memory/pipeline-world.ts';

const SECOND = 1000;
const KEY = { queue: 'orders', subscriptionId: 'subscription-1' };
const PLACES = [{ by: 'subscription' as const }, { by: 'queue' as const }];

let world: PipelineWorld;

const changed = async (
  by: 'subscription' | 'queue',
  change: <Of extends { pauses?: readonly Pause[] }>(of: Of) => Of,
) => {
  const now = world.clock.now();
  const version = now;
  if (by === 'queue') await world.subscriptions.changeQueue('orders', change);
  else await world.subscriptions.changeSubscription({ ...KEY, now }, change);
  const place = by === 'queue' ? { queue: 'orders' } : KEY;
  await world.operations.send({ kind: 'pause', ...place, version }, 0);
};

const pauseIt = (by: 'subscription' | 'queue' = 'subscription', forMs?: number) => {
  const now = world.clock.now();
  return changed(by, (of) => pause(of, { now, until: forMs === undefined ? undefined : now + forMs }));
};

const resumeIt = (by: 'subscription' | 'queue' = 'subscription', perSecond?: number) => {
  const now = world.clock.now();
  return changed(by, (of) => resume(of, { now, perSecond }));
};

const publish = async (id = 'message-1', more: object = {}): Promise<void> => {
  await world.dispatch({ ok: true, message: aMessage({ id, ...more }) });
  await world.runFor(SECOND);
};

const policy = aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 5 });

const start = async (more: Partial<Subscription> = {}): Promise<void> => {
  world = pipelineWorld();
  await world.subscriptions.putQueue(aQueue());
  await addSubscription(world.subscriptions, aSubscription({ options: { _retry_policy: policy }, ...more }));
};

const requests = () => world.subscriber.seen.length;

const URL_OF = toSubscriber(aSubscription().destination);

/** Every request fails from now on. */
const fail = () => {
  world.subscriber.script(URL_OF, [status(500)]);
};

beforeEach(() => start());

describe.each(PLACES)('a pause of the $by', ({ by }) => {
  it('keeps a new message waiting on record: no request, no lease, no attempt, no wake-up', async () => {
    await pauseIt(by);
    await publish();
    await world.runFor(60 * SECOND);
    expect(requests()).toBe(0);
    const delivery = await world.delivery();
    expect(delivery).toMatchObject({ status: 'pending', attempts: [], lost: 0, next: { by: `${by}_pause` } });
    expect(delivery).toMatchObject({ lease: undefined, overdueAt: delivery.acceptedAt });
    expect(await world.reconcile()).toEqual({ woken: 0, latestMs: 0 });
  });

  it('sends what waited after the pause is resumed', async () => {
    await pauseIt(by);
    await publish();
    await resumeIt(by);
    await world.runFor(10 * SECOND);
    expect(await world.delivery()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
  });

  it('ends by itself', async () => {
    await pauseIt(by, 40 * 60 * SECOND);
    await publish();
    await world.runFor(39 * 60 * SECOND);
    expect(requests()).toBe(0);
    await world.runFor(2 * 60 * SECOND);
    expect(requests()).toBe(1);
  });

  it('keeps a retry that becomes due waiting, and counts it as no attempt', async () => {
    fail();
    await publish();
    await pauseIt(by);
    await world.runFor(60 * SECOND);
    expect(requests()).toBe(1);
    expect(await world.delivery()).toMatchObject({
      status: 'retrying',
      attempts: [{ number: 1 }],
      next: { number: 2, phase: 'pre_backoff', by: `${by}_pause` },
    });
    await resumeIt(by);
    await world.runFor(3 * SECOND);
    expect(requests()).toBe(2);
  });
});

describe('a paused subscription', () => {
  it('lets a wake-up that exists at the pause arrive, and wait', async () => {
    fail();
    await start({
      options: { _retry_policy: aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 600 }) },
    });
    fail();
    await publish();
    await pauseIt();
    await world.runFor(500 * SECOND);
    expect((await world.delivery()).next?.by).toBe('scheduler');
    await world.runFor(110 * SECOND);
    expect((await world.delivery()).next?.by).toBe('subscription_pause');
    expect(requests()).toBe(1);
  });

  it('makes no immediate retry in an invocation that began before the pause', async () => {
    await start({ options: { _retry_policy: aBarePolicy({ retries_with_no_delay: 3 }) } });
    fail();
    world.subscriber.onRequest = () => pauseIt();
    await publish();
    expect(requests()).toBe(1);
    expect(await world.delivery()).toMatchObject({
      lease: undefined,
      next: { number: 2, by: 'subscription_pause' },
    });
  });

  it('sends nothing before the retry is due by its policy, even if it is resumed earlier', async () => {
    await start({
      options: { _retry_policy: aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 600 }) },
    });
    fail();
    await publish();
    await pauseIt();
    await resumeIt();
    await world.runFor(590 * SECOND);
    expect(requests()).toBe(1);
    await world.runFor(20 * SECOND);
    expect(requests()).toBe(2);
  });

  it('counts a request as lost whose invocation crashed before the pause', async () => {
    const job = {
      kind: 'job',
      key: { ...KEY, messageId: 'message-1', bucket: 0 },
      attempt: 1,
      acceptedAt: world.clock.now(),
    } as const;
    const message = { kind: 'inline', message: aMessage() } as const;
    await world.deliveries.write({
      name: 'open',
      key: job.key,
      expect: { kind: 'absent' },
      create: {
        ...newDelivery(job, { now: world.clock.now(), retentionMs: 1_000_000 }),
        lease: { owner: 'crashed', until: world.clock.now() + 10 * SECOND },
      },
    });
    await pauseIt();
    world.deliveryJobs.send({ ...job, body: message }, 0);
    await world.runFor(60 * SECOND);
    expect(await world.delivery()).toMatchObject({
      lost: 1,
      lease: undefined,
      next: { by: 'subscription_pause' },
    });
  });

  it('gets its confirmation request', async () => {
    const unconfirmed = { tokenHash: 'hash', at: 0 };
    await start({ unconfirmed });
    await pauseIt();
    const id = buildConfirmationId(unconfirmed);
    const key = { ...KEY, messageId: id, bucket: 0 };
    const body = { kind: 'inline', message: aMessage({ id }) } as const;
    world.deliveryJobs.send({ kind: 'job', key, attempt: 1, acceptedAt: world.clock.now(), body }, 0);
    await world.runFor(SECOND);
    expect(requests()).toBe(1);
  });

  it('gets the test that an operator sends, and no retry of it', async () => {
    fail();
    await pauseIt();
    const key = { ...KEY, messageId: 'test', bucket: 0 };
    const body = { kind: 'inline', message: aMessage({ id: 'test' }) } as const;
    world.deliveryJobs.send(
      { kind: 'job', key, attempt: 1, acceptedAt: world.clock.now(), body, isTest: true },
      0,
    );
    await world.runFor(60 * SECOND);
    expect(requests()).toBe(1);
    expect((await world.deliveries.find(key))?.next?.by).toBe('subscription_pause');
  });

  it('cancels a message that expired while it waited', async () => {
    await pauseIt();
    await publish('message-1', { expiresAt: world.clock.now() + 30 * SECOND });
    await world.runFor(60 * SECOND);
    await resumeIt();
    await world.runFor(10 * SECOND);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'message_expired' });
    expect(requests()).toBe(0);
  });

  it('does not make a waiting delivery due by hand', async () => {
    await pauseIt();
    await publish();
    const { key } = await world.delivery();
    expect(await retryDelivery(world.byHandContext, key)).toMatchObject({ kind: 'refused', why: 'paused' });
  });

  it('lets what a recovery reopens wait', async () => {
    await start({ options: { _retry_policy: aBarePolicy() } });
    fail();
    await publish();
    await pauseIt();
    const { key } = await world.delivery();
    expect(await reopenDelivery(world.byHandContext, key, 'recovery-1')).toMatchObject({ kind: 'retried' });
    await world.runFor(10 * SECOND);
    expect((await world.delivery()).next?.by).toBe('subscription_pause');
    expect(requests()).toBe(1);
  });

  it('can be cancelled delivery by delivery', async () => {
    await pauseIt();
    await publish();
    const { key } = await world.delivery();
    expect(await cancelDelivery(world.byHandContext, key, 'manual')).toMatchObject({ kind: 'cancelled' });
    await resumeIt();
    await world.runFor(10 * SECOND);
    expect(requests()).toBe(0);
    expect(await world.deliveries.waiting(KEY, Infinity, 1)).toEqual([]);
  });

  it('loses what waits when it is deleted, and not before', async () => {
    await pauseIt('subscription', 60 * SECOND);
    await publish();
    await world.subscriptions.markDeleted({ ...KEY, now: world.clock.now() });
    await world.runFor(120 * SECOND);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'subscription_deleted' });
  });

  it('is not sent to by a stray copy of a job after the pause, before its turn', async () => {
    await pauseIt();
    await publish();
    const delivery = await world.delivery();
    const { key, acceptedAt } = delivery;
    await world.subscriptions.changeSubscription({ ...KEY, now: 0 }, (one) => ({ ...one, pauses: [] }));
    const body = { kind: 'inline', message: aMessage() } as const;
    world.deliveryJobs.send({ kind: 'job', key, attempt: 1, acceptedAt, body }, 0);
    await world.runFor(10 * SECOND);
    expect(requests()).toBe(0);
  });

  it('keeps waiting for the second of two pauses', async () => {
    await pauseIt('queue');
    await publish();
    await pauseIt('subscription');
    await resumeIt('queue');
    await world.runFor(10 * SECOND);
    expect((await world.delivery()).next?.by).toBe('subscription_pause');
    await resumeIt('subscription');
    await world.runFor(10 * SECOND);
    expect(requests()).toBe(1);
  });
});
