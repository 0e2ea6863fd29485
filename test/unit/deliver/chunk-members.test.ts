import { describe, expect, it } from 'vitest';
import { makeSecret } from '../../../shared/domain/subscription/signing-secret.ts';
import { aBarePolicy } from '../../support/builders.ts';
import { chunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const RETRIED = { minimum_delay_retries: 2, minimum_delay: 10, maximum_delay: 10 };

describe('a member of a chunk', () => {
  it('that fails gets a separate record and its retries; the others stay in the chunk', async () => {
    const world = await chunkedWorld(4, { policy: RETRIED });
    world.subscriber.script(world.urlOf('s-2'), [status(503), status(503), status(200)]);
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

  it('that fails has the message stored for its retries; one that succeeds does not', async () => {
    const kept = async (statusCode: number) => {
      const world = await chunkedWorld(3);
      world.subscriber.script(world.urlOf('s-2'), [status(statusCode)]);
      await world.publish();
      await world.clock.run();
      return (await world.messageRecords.find({ queue: 'orders', messageId: 'message-1' }))?.body;
    };
    expect(await kept(503)).toMatchObject({ kind: 'inline' });
    expect(await kept(200)).toBeUndefined();
  });

  it('that fails gets its immediate retry while the others are recorded', async () => {
    const world = await chunkedWorld(3, { policy: { retries_with_no_delay: 3 } });
    world.subscriber.script(world.urlOf('s-1'), [
      status(503, { takesMs: 100 }),
      status(200, { takesMs: 100 }),
    ]);
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
    world.subscriber.script(world.urlOf('s-3'), [status(given.answer)]);
    await world.publish();
    await world.clock.run();

    expect(await world.delivery('s-3')).toMatchObject({ status: given.end, pendingSteps: [] });
    expect(world.undeliverables.sent).toHaveLength(1);
    const subscription = await world.subscriptions.findSubscription('orders', 's-3');
    expect(subscription?.disabled !== undefined).toBe(given.disabled);
    for (const id of ['s-1', 's-2']) expect((await world.delivery(id)).status).toBe('delivered');
  });

  it('whose subscription is disabled or expires is cancelled in a separate record', async () => {
    const world = await chunkedWorld(2);
    await world.subscribe('off', { disabled: { reason: 'manual', at: 0 } });
    await world.subscribe('brief', { expiresAt: world.startedAt + 5_000 });
    await world.publish({}, 10);
    await world.clock.run();

    expect(await world.delivery('off')).toMatchObject({ status: 'cancelled', reason: 'disabled' });
    expect(await world.delivery('brief')).toMatchObject({
      status: 'cancelled',
      reason: 'subscription_expired',
    });
    expect(world.separateMembers()).toEqual(['brief', 'off']);
    expect([...world.requests(), world.requestsOf('off'), world.requestsOf('brief')]).toEqual([1, 1, 0, 0]);
  });

  it('that waits for a rate-limit slot does so in a separate record and delays no other', async () => {
    const world = await chunkedWorld(2);
    await world.subscribe('limited', {
      options: { max_per_second: 0.1, _retry_policy: aBarePolicy() },
    });
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

    expect(world.requests()).toEqual([1, 1, 1]);
    for (const id of world.ids) expect((await world.delivery(id)).status).toBe('delivered');
    expect(world.requestsOf('signed')).toBe(0);
    expect(world.deliveryJobs.waiting).toBe(1);

    world.secretOpener.outage = undefined;
    await world.clock.run();
    expect(world.requestsOf('signed')).toBe(1);
    expect(await world.delivery('signed')).toMatchObject({ status: 'delivered', lost: 0 });
    expect((await world.delivery('signed')).attempts[0]).not.toHaveProperty('lost');
    expect(world.requests()).toEqual([1, 1, 1]);
    expect(world.deliveryJobs.waiting).toBe(0);
  });

  it('whose record cannot be written delays no other, and its request is repeated as lost', async () => {
    const world = await chunkedWorld(3, { policy: RETRIED });
    world.subscriber.script(world.urlOf('s-1'), [status(503), status(200)]);
    const write = world.deliveries.write.bind(world.deliveries);
    world.deliveries.write = (transition) => {
      world.deliveries.write = write;
      return Promise.reject(new Error(`throttled: ${transition.name}`));
    };
    await world.publish();
    await world.clock.run();

    expect(world.requests()).toEqual([2, 1, 1]);
    expect(await world.delivery('s-1')).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1, outcome: 'delivered', lost: 1 }],
    });
    expect(world.separateMembers()).toEqual(['s-1']);
  });
});
