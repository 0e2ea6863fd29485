import { beforeEach, describe, expect, it } from 'vitest';
import { booksOfMessage, isBalanced } from '../../../shared/domain/delivery/books.ts';
import { buildConfirmationId } from '../../../shared/domain/subscription/confirmation.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { aMessage, aQueue } from '../../support/builders.ts';
import { chunkedWorld, type ChunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { sendDelivery } from '../../../functions/api/deliveries/manual-routes.ts';

const MESSAGE = { queue: 'orders', messageId: 'message-1' };
const DAY = 24 * 60 * 60 * 1000;

let world: ChunkedWorld;

/** Three subscriptions that get every message, and one, `picky`, that gets none. */
beforeEach(async () => {
  world = await chunkedWorld(3);
  world.settings.retainMessages = 'all';
  await subscribed('picky', { options: { event_types: ['order.paid'] } });
});

/** The subscription exists before the message. */
const subscribed = (id: string, more: Partial<Subscription> = {}) =>
  world.subscribe(id, { options: {}, ...more });

const delivered = async (): Promise<void> => {
  await world.publish();
  await world.clock.run();
};

const send = (id: string, message = MESSAGE) => sendDelivery(world.byHandContext, message, id);

/** The reconciliation report of the message. */
const books = async () => {
  const record = await world.messageRecords.find(MESSAGE);
  if (record === undefined) throw new Error('The message is not on record');
  return booksOfMessage(record, await world.byHandContext.ports.deliveryListings.tally(record));
};

describe('sending a message by hand', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['that was filtered', () => Promise.resolve()],
    ['that is newer', () => world.subscribe('newer', { createdAt: world.clock.now() + 1 })],
  ])('reaches a subscription %s, once and under its id, and balances', async (what, prepare) => {
    const id = what.endsWith('newer') ? 'newer' : 'picky';
    await delivered();
    await prepare();
    expect(await send(id)).toMatchObject({ kind: 'retried', delivery: { status: 'pending', round: 1 } });
    expect(isBalanced(await books())).toBe(true);
    await world.clock.run();

    expect(world.requestsOf(id)).toBe(1);
    const [request] = world.subscriber.seen.filter(({ request: { url } }) => url === world.urlOf(id));
    expect(request?.request.headers['webhook-id']).toBe('message-1');
    expect(await world.delivery(id)).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1, round: 1, phase: 'manual' }],
    });
    expect(await books()).toMatchObject({ matched: 4, filtered: 1, delivered: 4, unmatched: 0 });
    expect(isBalanced(await books())).toBe(true);
  });

  it('reaches a subscription that is made after the message, where the queue had none', async () => {
    world = await chunkedWorld(0);
    await delivered();
    await world.subscribe('newer', { createdAt: world.clock.now() + 1, options: {} });
    expect((await send('newer')).kind).toBe('retried');
    await world.clock.run();

    expect(world.requestsOf('newer')).toBe(1);
    expect(await books()).toMatchObject({ matched: 1, delivered: 1, unmatched: 0 });
  });

  it('is retried by the policy like any delivery', async () => {
    await delivered();
    await world.subscribe('newer', {
      createdAt: world.clock.now() + 1,
      options: { _retry_policy: { retries_with_no_delay: 1 } },
    });
    world.subscriber.script(world.urlOf('newer'), [status(500), status(200)]);
    await send('newer');
    await world.clock.run();

    const { attempts } = await world.delivery('newer');
    expect(attempts.map(({ phase }) => phase)).toEqual(['manual', 'immediate']);
  });

  it('gives a delivered delivery another round, which is not counted again', async () => {
    await delivered();
    expect((await send('s-1')).kind).toBe('retried');
    await world.clock.run();

    expect(world.requestsOf('s-1')).toBe(2);
    expect(await world.delivery('s-1')).toMatchObject({ status: 'delivered', round: 2 });
    expect(await books()).toMatchObject({ matched: 3, delivered: 3 });
  });

  it('makes one request if it is repeated at once', async () => {
    await delivered();
    const results = await Promise.all(Array.from({ length: 5 }, () => send('picky')));
    expect(results.filter(({ kind }) => kind === 'retried')).toHaveLength(1);
    expect(results).toContainEqual({ kind: 'refused', why: 'open' });
    await world.clock.run();

    expect(world.requestsOf('picky')).toBe(1);
    expect((await books()).matched).toBe(4);
  });

  it('makes no second request when its message is repeated', async () => {
    await delivered();
    await send('picky');
    await world.clock.run();
    await delivered();

    expect(world.requestsOf('picky')).toBe(1);
    expect(isBalanced(await books())).toBe(true);
  });

  it('makes no second request when a repeat of the job has the subscription among its members', async () => {
    await delivered();
    await send('picky');
    await world.clock.run();
    await world.deliverCopy(world.job([...world.ids, 'picky']), world.received('copy'));
    await world.clock.run();

    expect(world.requestsOf('picky')).toBe(1);
  });

  it('is found by reconcile if its wake-up was not sent', async () => {
    await delivered();
    const lost = { ...world.wakeUps, sendDelayed: () => Promise.reject(new Error('SQS is unavailable')) };
    const { ports, settings } = world.byHandContext;
    const sending = sendDelivery({ ports: { ...ports, wakeUps: lost }, settings }, MESSAGE, 'picky');
    await expect(sending).rejects.toThrow('unavailable');
    expect(isBalanced(await books())).toBe(true);
    await world.clock.run(world.clock.now() + 60_000);
    await world.reconcile();
    await world.clock.run();

    expect((await world.delivery('picky')).status).toBe('delivered');
  });
});

describe('sending a message by hand is refused', () => {
  const refusedAs = async (why: string, id = 'picky', message = MESSAGE): Promise<void> => {
    const before = world.subscriber.seen.length;
    expect(await send(id, message)).toMatchObject({ kind: 'refused', why });
    await world.clock.run(world.clock.now() + 60_000);
    expect(world.subscriber.seen).toHaveLength(before);
  };

  it('for a message without a record', async () => {
    await refusedAs('no_such_message');
  });

  it.each([true, false])(
    'for a message of an earlier queue of this name, stored with its life: %s',
    async (isWithLife) => {
      await delivered();
      const record = await world.messageRecords.find(MESSAGE);
      if (record === undefined) throw new Error('The message is not on record');
      const key = { ...MESSAGE, messageId: 'stored' };
      const { queueCreatedAt: _, ...lifeless } = record;
      await world.messageRecords.accept({ ...(isWithLife ? record : lifeless), key }, world.clock.now());
      await world.clock.run(world.clock.now() + DAY);
      await world.subscriptions.deleteQueue('orders', world.clock.now());
      await world.subscriptions.putQueue(aQueue({ createdAt: world.clock.now() }));
      await world.subscribe('newer', { createdAt: world.clock.now() });
      await refusedAs('no_such_message', 'newer', key);
    },
  );

  it('while a first attempt that may be its own is still to come', async () => {
    await world.publish({}, 600);
    await world.until(1_000);
    await refusedAs('unfinished');
    await refusedAs('unfinished', 's-1');
    await world.clock.run();
    expect((await send('picky')).kind).toBe('retried');
  });

  it('not because of others, for a subscription that is newer than the message', async () => {
    await world.publish({}, 600);
    await world.until(1_000);
    await world.subscribe('newer', { createdAt: world.clock.now() });
    expect((await send('newer')).kind).toBe('retried');
  });

  it('not because of deliveries that are missing, for a message older than the retention', async () => {
    await delivered();
    world.settings.retentionMs = DAY;
    world.messageRecords.countMatch({ key: MESSAGE, acceptedAt: world.startedAt });
    await refusedAs('unfinished');
    await world.clock.run(world.startedAt + DAY);
    expect((await send('picky')).kind).toBe('retried');
  });

  it('while the message is sent page by page', async () => {
    world.settings.pageSize = 2;
    await delivered();
    const record = await world.messageRecords.find(MESSAGE);
    if (record === undefined) throw new Error('The message is not on record');
    await world.subscribe('newer', { createdAt: world.clock.now() + 1 });
    const unfinished = { ...MESSAGE, messageId: 'unfinished' };
    await world.messageRecords.accept({ ...record, key: unfinished, lastSubscriptionId: 's-1' });
    await refusedAs('unfinished', 'newer', unfinished);
  });

  it('without the body', async () => {
    world.settings.retainMessages = 'failed';
    await delivered();
    await refusedAs('body_gone');
    await refusedAs('body_gone', 's-1');
    expect((await books()).matched).toBe(3);
  });

  it('after the body was erased', async () => {
    await delivered();
    await world.messageRecords.eraseBody(MESSAGE, world.clock.now());
    await refusedAs('body_gone');
  });

  it('after the ttl of the message', async () => {
    await world.publish({ expiresAt: world.clock.now() + 5_000 });
    await world.clock.run(world.clock.now() + 6_000);
    await refusedAs('message_expired');
  });

  it.each<[string, Partial<Subscription>]>([
    ['disabled', { disabled: { reason: 'manual', at: 0 } }],
    ['unconfirmed', { unconfirmed: { tokenHash: 'x', at: 0 } }],
    ['marked for deletion', { deletedAt: 1 }],
    ['expired', { expiresAt: 1 }],
  ])('for a subscription that is %s', async (_what, more) => {
    await subscribed('absent', more);
    await delivered();
    await refusedAs('subscription_absent', 'absent');
  });

  it('for a subscription that does not exist', async () => {
    await delivered();
    await refusedAs('subscription_absent', 'nobody');
  });

  it("for the confirmation request of another subscription, which has that one's link", async () => {
    const id = buildConfirmationId({ tokenHash: 'x' });
    await world.dispatch({ ok: true, message: aMessage({ id }) });
    await world.clock.run();
    await refusedAs('no_such_delivery', 'picky', { ...MESSAGE, messageId: id });
  });
});
