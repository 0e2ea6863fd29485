import { describe, expect, it, vi } from 'vitest';
import { deliverRecord } from '../../../functions/deliver/deliver.ts';
import { makeSecret } from '../../../shared/domain/subscription/signing-secret.ts';
import { encodeFirstJob } from '../../../shared/wire/jobs/delivery-job.ts';
import { aBarePolicy } from '../../support/builders.ts';
import { answered } from '../../support/delivery-builders.ts';
import { chunkedWorld, type ChunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { removeSubscription } from '../../support/remove-subscription.ts';
import { anSqsRecord } from '../../support/sqs-event.ts';

const RETRIED = { minimum_delay_retries: 2, minimum_delay: 10, maximum_delay: 10 };
const MESSAGE = { queue: 'orders', messageId: 'message-1' };

const allDelivered = (world: ChunkedWorld) => world.ids.map(() => 'delivered');

describe('the first attempts of a chunk', () => {
  it('take two writes if ten subscribers answer at similar speed: the claim and one for all successes', async () => {
    const world = await chunkedWorld(10);
    world.answerAll(100, 10);
    await world.deliver();

    expect(world.writesSeen).toEqual([
      { at: 0, write: 'chunk unclaimed' },
      { at: 190, write: 'chunk leased' },
    ]);
    expect(world.separateMembers()).toEqual([]);
    expect(world.requests()).toEqual(world.ids.map(() => 1));
    for (const id of world.ids)
      expect(await world.delivery(id)).toMatchObject({
        status: 'delivered',
        attempts: [{ number: 1 }],
        lost: 0,
      });
    expect((await world.chunk())?.lease).toBeUndefined();
    expect(world.deliveryJobs.waiting).toBe(0);
  });

  it('are recorded within the batch window; a slow one does not delay the others', async () => {
    const world = await chunkedWorld(10);
    world.answerAll(50);
    world.answer('s-10', status(200, { takesMs: 10_000 }));
    await world.publish();
    await world.until(50 + 250);

    expect((await world.statuses()).slice(0, 9)).toEqual(Array(9).fill('delivered'));
    expect(await world.delivery('s-10')).toMatchObject({ status: 'pending', attempts: [] });

    await world.clock.run();
    expect(world.writesSeen).toEqual([
      { at: 0, write: 'chunk unclaimed' },
      { at: 300, write: 'chunk leased' },
      // No other member is pending, so it is recorded at once.
      { at: 10_000, write: 'chunk leased' },
    ]);
    expect((await world.delivery('s-10')).status).toBe('delivered');
  });

  it('that succeed during a write are recorded by the next write, each once', async () => {
    const world = await chunkedWorld(3);
    const write = world.chunks.write.bind(world.chunks);
    world.chunks.write = async (transition) => {
      if (transition.expect.kind === 'leased') await world.clock.sleep(400);
      return await write(transition);
    };
    for (const [id, takesMs] of Object.entries({ 's-1': 10, 's-2': 300, 's-3': 5_000 }))
      world.answer(id, status(200, { takesMs }));
    await world.deliver();

    // The first waits 250 ms and its write takes 400 ms; the second waits 250 ms after that; the last is written at
    // once.
    expect(world.writesSeen.map(({ at }) => at)).toEqual([0, 260, 910, 5_000]);
    expect(world.requests()).toEqual([1, 1, 1]);
    for (const id of world.ids) expect((await world.delivery(id)).attempts).toHaveLength(1);
  });

  it('have their start, duration and response recorded', async () => {
    const world = await chunkedWorld(2);
    world.answer('s-1', status(202, { takesMs: 30, snippet: 'thanks' }));
    world.answer('s-2', status(204, { takesMs: 70 }));
    await world.deliver();

    const { startedAt } = world;
    const initial = { number: 1, round: 1, phase: 'initial', startedAt, outcome: 'delivered' };
    expect([(await world.delivery('s-1')).attempts, (await world.delivery('s-2')).attempts]).toEqual([
      [{ ...initial, durationMs: 30, result: answered(202, 'thanks') }],
      [{ ...initial, durationMs: 70, result: answered(204) }],
    ]);
  });

  it('of a delayed message are made together when it is due', async () => {
    const world = await chunkedWorld(3);
    await world.publish({}, 60);
    await world.until(59_000);
    expect(world.writes()).toEqual([]);
    await world.clock.run();

    expect(world.subscriber.seen.map(({ at }) => at - world.startedAt)).toEqual([60_000, 60_000, 60_000]);
    expect(world.writes()).toEqual(['chunk unclaimed', 'chunk leased']);
  });

  it('return to the queue together if the invocation has no time for them', async () => {
    const world = await chunkedWorld(3);
    await world.deliverCopy(world.job(), world.received('hurried', 1, 10_000));

    expect(world.writes()).toEqual([]);
    expect(world.facts('sent_again')).toHaveLength(3);
    expect(world.deliveryJobs.waiting).toBe(1);

    await world.clock.run();
    expect(world.writes()).toEqual(['chunk unclaimed', 'chunk leased']);
    expect(world.requests()).toEqual([1, 1, 1]);
  });
});

describe('a member of a chunk', () => {
  it('that fails gets a separate record and its retries; the others stay in the chunk', async () => {
    const world = await chunkedWorld(4, { policy: RETRIED });
    world.answer('s-2', status(503), status(503), status(200));
    await world.publish();
    await world.until(5_000);

    expect(world.writes()).toEqual(['chunk unclaimed', 'record s-2', 'chunk leased']);
    expect(world.separateMembers()).toEqual(['s-2']);
    expect((await world.chunk())?.members?.get('s-2')).toBe('separate');
    expect(await world.delivery('s-2')).toMatchObject({
      status: 'retrying',
      attempts: [{ number: 1, outcome: 'failed' }],
      next: { number: 2, phase: 'pre_backoff' },
    });

    await world.clock.run();
    expect(world.requests()).toEqual([1, 3, 1, 1]);
    expect(await world.delivery('s-2')).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1 }, { number: 2 }, { number: 3 }],
      lost: 0,
    });
    expect(world.separateMembers()).toEqual(['s-2']);
  });

  it.each([
    [503, 'inline'],
    [200, undefined],
  ])('that answers %i has the message stored for its retries if it needs any', async (code, kind) => {
    const world = await chunkedWorld(3);
    world.answer('s-2', status(code));
    await world.deliver();
    expect((await world.messageRecords.find(MESSAGE))?.body?.kind).toBe(kind);
  });

  it('that fails gets its immediate retry while the others are recorded', async () => {
    const world = await chunkedWorld(3, { policy: { retries_with_no_delay: 3 } });
    world.answer('s-1', status(503, { takesMs: 100 }), status(200, { takesMs: 100 }));
    await world.publish();
    await world.until(1_000);

    expect(world.requests()).toEqual([2, 1, 1]);
    expect(await world.delivery('s-1')).toMatchObject({
      status: 'delivered',
      attempts: [{ phase: 'initial' }, { phase: 'immediate', by: 'same_invocation' }],
    });
    expect(world.separateMembers()).toEqual(['s-1']);
  });

  it.each([
    { answer: 404, end: 'rejected', disabled: false },
    { answer: 410, end: 'rejected', disabled: true },
    { answer: 503, end: 'exhausted', disabled: false },
  ])('that answers $answer without retries is $end, and its pending steps are done', async (given) => {
    const world = await chunkedWorld(3);
    world.answer('s-3', status(given.answer));
    await world.deliver();

    expect(await world.statuses()).toEqual(['delivered', 'delivered', given.end]);
    expect(await world.delivery('s-3')).toMatchObject({ pendingSteps: [] });
    expect(world.undeliverables.sent).toHaveLength(1);
    const subscription = await world.subscriptions.findSubscription('orders', 's-3');
    expect(subscription?.disabled !== undefined).toBe(given.disabled);
  });

  it('whose subscription is disabled or expires is cancelled in a separate record', async () => {
    const world = await chunkedWorld(2);
    await world.subscribe('off', { disabled: { reason: 'manual', at: 0 } });
    await world.subscribe('brief', { expiresAt: world.startedAt + 5_000 });
    await world.publish({}, 10);
    await world.clock.run();

    for (const [id, reason] of [
      ['off', 'disabled'],
      ['brief', 'subscription_expired'],
    ] as const) {
      expect(await world.delivery(id)).toMatchObject({ status: 'cancelled', reason });
      expect(world.requestsOf(id)).toBe(0);
    }
    expect(world.separateMembers()).toEqual(['brief', 'off']);
    expect(world.requests()).toEqual([1, 1]);
  });

  it('that waits for a rate-limit slot does so in a separate record and delays no other', async () => {
    const world = await chunkedWorld(2);
    await world.subscribe('limited', { options: { max_per_second: 0.1, _retry_policy: aBarePolicy() } });
    await world.publish();
    await world.until(1_000);
    await world.publish({ id: 'message-2' });
    await world.until(2_000);

    expect((await world.delivery('limited')).status).toBe('delivered');
    expect(await world.delivery('limited', 'message-2')).toMatchObject({ status: 'pending', attempts: [] });
    expect(world.separateMembers()).toEqual(['limited']);
    for (const id of world.ids) expect((await world.delivery(id, 'message-2')).status).toBe('delivered');

    await world.clock.run();
    expect((await world.delivery('limited', 'message-2')).status).toBe('delivered');
    expect(world.requestsOf('limited')).toBe(2);
  });

  it('whose secrets cannot be decrypted delays no other, and its job is redelivered', async () => {
    const world = await chunkedWorld(3);
    const secret = makeSecret('v1', (bytes) => new Uint8Array(bytes));
    const sealed = await world.secretOpener.seal({ queue: 'orders', subscriptionId: 'signed' }, secret);
    await world.subscribe('signed', { secrets: [{ sealed }] });
    world.secretOpener.outage = new Error('KMS does not respond');
    await world.publish();
    await world.until(1_000);

    expect(await world.statuses()).toEqual(allDelivered(world));
    expect(world.requestsOf('signed')).toBe(0);
    expect(world.deliveryJobs.waiting).toBe(1);

    world.secretOpener.outage = undefined;
    await world.clock.run();
    expect(world.requestsOf('signed')).toBe(1);
    expect(await world.delivery('signed')).toMatchObject({ status: 'delivered', lost: 0 });
    expect(await world.lostOf('signed')).toEqual([0]);
    expect(world.requests()).toEqual([1, 1, 1]);
    expect(world.deliveryJobs.waiting).toBe(0);
  });

  it('keeps the message for all that fail with it, and each tries again if that fails', async () => {
    const world = await chunkedWorld(10, { policy: RETRIED });
    const keepBody = vi.spyOn(world.messageRecords, 'keepBody');
    for (const id of world.ids) world.answer(id, status(503), status(200));
    await world.deliver();
    expect(keepBody).toHaveBeenCalledOnce();
    expect(await world.statuses()).toEqual(allDelivered(world));

    const faulty = await chunkedWorld(3, { policy: RETRIED });
    vi.spyOn(faulty.messageRecords, 'keepBody').mockRejectedValueOnce(new Error('throttled'));
    for (const id of faulty.ids) faulty.answer(id, status(503), status(200));
    await faulty.deliver();
    expect(faulty.requests()).toEqual([2, 2, 2]);
  });

  it('whose record cannot be written delays no other, and its request is repeated as lost', async () => {
    const world = await chunkedWorld(3, { policy: RETRIED });
    world.answer('s-1', status(503), status(200));
    vi.spyOn(world.deliveries, 'write').mockRejectedValueOnce(new Error('throttled'));
    await world.deliver();

    expect(world.requests()).toEqual([2, 1, 1]);
    expect(await world.delivery('s-1')).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1, outcome: 'delivered', lost: 1 }],
    });
    expect(world.separateMembers()).toEqual(['s-1']);
  });
});

describe('a copy of a chunk job', () => {
  it('makes no request while the first holds the lease, and returns when the lease ends', async () => {
    const world = await chunkedWorld(3);
    world.answerAll(3_000);
    await world.publish();
    await world.until(1_000);
    const before = world.writes();
    await world.deliverCopy(world.job(), world.received('copy'));

    expect(world.writes()).toEqual([...before, 'chunk unclaimed']);
    expect(world.deliveryJobs.waiting).toBe(2);
    const until = (await world.chunk())?.lease?.until ?? Number.NaN;
    await world.clock.run(until - 1);
    expect(world.deliveryJobs.waiting).toBe(1);
    await world.clock.run();
    expect(world.deliveryJobs.waiting).toBe(0);
    expect(world.requests()).toEqual([1, 1, 1]);
    expect(world.separateMembers()).toEqual([]);
  });

  it('makes no request beside it in the same batch either', async () => {
    const world = await chunkedWorld(3);
    world.answerAll(3_000);
    const record = anSqsRecord(encodeFirstJob(world.job()));
    const invocation = { getRemainingTimeInMillis: () => 30_000 };
    const batch = [record, record].map((one) => deliverRecord(world.deliverContext, one, invocation));
    await world.clock.run();
    await Promise.all(batch);

    expect(world.requests()).toEqual([1, 1, 1]);
    expect(world.separateMembers()).toEqual([]);
  });

  it('is a no-op after all members succeeded', async () => {
    const world = await chunkedWorld(3);
    await world.deliver();
    await world.deliverCopy(world.job(), world.received('late', 2));
    await world.clock.run();

    expect(world.requests()).toEqual([1, 1, 1]);
    expect(world.separateMembers()).toEqual([]);
    expect(world.writes()).toEqual(['chunk unclaimed', 'chunk leased', 'chunk unclaimed']);
  });

  it('gives subscriptions outside the claim separate records', async () => {
    const world = await chunkedWorld(4);
    await world.publish({}, 600);
    await world.deliverCopy(world.job(['s-1', 's-2']), world.received('first'));
    await world.deliverCopy(world.job(['s-2', 's-3', 's-4']), world.received('other'));
    await world.until(1_000);

    expect(world.requests()).toEqual([1, 1, 1, 1]);
    expect([...((await world.chunk())?.members?.keys() ?? [])]).toEqual(['s-1', 's-2']);
    expect(world.separateMembers()).toEqual(['s-3', 's-4']);
    expect(await world.statuses()).toEqual(allDelivered(world));

    // Redeliveries of both copies.
    await world.deliverCopy(world.job(['s-2', 's-3', 's-4']), world.received('again', 2));
    await world.deliverCopy(world.job(['s-1', 's-2']), world.received('again', 2));
    await world.clock.run();
    expect(world.requests()).toEqual([1, 1, 1, 1]);
  });

  it('that names other subscriptions requests them after the first lease ends', async () => {
    const world = await chunkedWorld(3);
    world.answerAll(3_000);
    await world.publish({}, 600);
    const first = world.deliverCopy(world.job(['s-1', 's-2']), world.received('first'));
    await world.until(1_000);
    await world.deliverCopy(world.job(['s-1', 's-2', 's-3']), world.received('other'));
    expect(world.requests()).toEqual([1, 1, 0]);
    await world.clock.run();
    await first;

    expect(world.requests()).toEqual([1, 1, 1]);
  });
});

describe('a result that arrives after its lease ended', () => {
  it('is stored as a late result, and a success wins', async () => {
    const world = await chunkedWorld(2);
    // Longer than the lease.
    world.answer('s-1', status(200, { takesMs: 40_000 }), status(500, { takesMs: 5_000 }));
    world.answer('s-2', status(200, { takesMs: 40_000 }), status(200));
    await world.publish({}, 600);
    const slow = world.deliverCopy(world.job(), world.received('slow'));
    await world.until(30_000);
    const other = world.deliverCopy(world.job(), world.received('other', 2));
    await world.clock.run();
    await Promise.all([slow, other]);

    expect(world.requests()).toEqual([2, 2]);
    expect(await world.delivery('s-1')).toMatchObject({
      status: 'delivered',
      attempts: [{ outcome: 'failed', lost: 1 }],
      lateResults: [{ outcome: 'delivered', result: answered(200) }],
    });
    expect(await world.delivery('s-2')).toMatchObject({
      status: 'delivered',
      attempts: [{ outcome: 'delivered', lost: 1 }],
      lateResults: [{}],
    });
  });

  it('is recorded in the chunk if no other invocation took over', async () => {
    const world = await chunkedWorld(2);
    world.answerAll(40_000);
    await world.deliver();

    expect(world.requests()).toEqual([1, 1]);
    expect(world.separateMembers()).toEqual([]);
    expect(await world.statuses()).toEqual(allDelivered(world));
  });
});

it.each([0, 1, 2, 3])(
  'a message is delivered once to each subscription after a crash of dispatch with %i jobs sent, although subscriptions changed',
  async (sent) => {
    const world = await chunkedWorld(12, { perJob: 4 });
    const { deliveryQueue } = world.dispatchContext.ports;
    const send = deliveryQueue.send.bind(deliveryQueue);
    vi.spyOn(deliveryQueue, 'send').mockImplementationOnce(async (jobs, delaySeconds) => {
      await send(jobs.slice(0, sent), delaySeconds);
      throw new Error('crash');
    });
    await expect(world.publish()).rejects.toThrow('crash');
    await world.clock.run();
    const before = world.requests();
    await removeSubscription(world.subscriptions, 'orders', 's-5');
    await world.subscribe('newcomer', { createdAt: world.clock.now() + 1 });
    world.settings.firstAttemptsPerJob = 2;
    await world.deliver();

    expect(world.requests()).toEqual(world.ids.map((id, index) => (id === 's-5' ? before[index] : 1)));
    expect(world.requestsOf('newcomer')).toBe(0);
    expect(await world.messageRecords.find(MESSAGE)).toMatchObject({ chunks: 3, duplicates: 1 });
    for (const id of world.ids.filter((one) => one !== 's-5'))
      expect(await world.delivery(id)).toMatchObject({ status: 'delivered', lost: 0 });
  },
);
