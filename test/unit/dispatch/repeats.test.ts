import { beforeEach, describe, expect, it, vi } from 'vitest';
import { eraseBody } from '../../../functions/api/messages/messages.ts';
import { publishToOne } from '../../../functions/api/subscriptions/test-subscription.ts';
import type { Message } from '../../../shared/domain/message/message.ts';
import type { RetainedMessages } from '../../../shared/domain/subscription/vocabulary.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { aBarePolicy, aMessage, aQueue } from '../../support/builders.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { dispatchWorld, type DispatchWorld } from './dispatch-world.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
let world: DispatchWorld;

beforeEach(async () => {
  world = await dispatchWorld();
});

const ofSize = (bytes: number) => ({ data: JSON.stringify('x'.repeat(bytes)) });

/** Two subscribers that fail twice, a minute apart, and then succeed. */
const subscribeTwo = async (retainMessages: RetainedMessages = 'failed'): Promise<void> => {
  world.settings.retainMessages = retainMessages;
  const policy = { minimum_delay_retries: 3, minimum_delay: 60, maximum_delay: 60 };
  for (const id of ['s-0', 's-1']) {
    await world.subscribe(id, { options: { _retry_policy: aBarePolicy(policy) } });
    world.subscriber.script(world.urlOf(id), [status(503), status(503), status(200)]);
  }
};

describe.each([
  { size: 1_000, retain: 'failed' },
  { size: 20_000, retain: 'failed' },
  { size: 1_000, retain: 'all' },
  { size: 20_000, retain: 'all' },
  { size: 70_000, retain: 'failed' },
] as const)('a message of $size bytes with retainMessages $retain', ({ size, retain }) => {
  const first = ofSize(size);

  beforeEach(() => subscribeTwo(retain));

  const expectFirstOnly = async (): Promise<void> => {
    await world.clock.run();
    expect(world.subscriber.seen).toHaveLength(6);
    expect(new Set(world.bodies()).size).toBe(1);
    expect(await world.delivery('s-0')).toMatchObject({ status: 'delivered' });
  };

  it('is completed by a redelivery without reading the payload bucket, which dispatch may not read', async () => {
    await world.publish(first);
    await world.runFor(5_000);
    const get = vi.spyOn(world.payloads, 'get').mockRejectedValue(new Error('AccessDenied'));
    await world.publish(first);
    get.mockRestore();
    await expectFirstOnly();
  });

  it.each<[string, Partial<Message>]>([
    ['type', { type: 'order.cancelled' }],
    ['timestamp', { timestamp: '2026-01-01T00:00:05.000Z' }],
    ['data', { data: '"other"' }],
    ['ttl', { expiresAt: Date.UTC(2026, 0, 1) + 10_000 }],
  ])('is sent as first accepted after a copy with a different %s', async (_what, other) => {
    await world.publish(first);
    await world.runFor(5_000);
    await world.publish({ ...first, ...other });
    await expectFirstOnly();
  });

  it('expires by the accepted ttl, even if a copy has a different one', async () => {
    const expiresAt = world.clock.now() + 30_000;
    await world.publish({ ...first, expiresAt });
    await world.runFor(5_000);
    await world.publish({ ...first, expiresAt: expiresAt + 3_600_000 });
    await world.clock.run();

    expect(await world.delivery('s-0')).toMatchObject({ status: 'cancelled', reason: 'message_expired' });
  });
});

describe('a copy of a message', () => {
  it.each([1_000, 20_000, 70_000])('of %i bytes with the same content sends the same jobs', async (size) => {
    await subscribeTwo();
    const jobs = world.collectJobs();
    const message = aMessage({ ...ofSize(size), expiresAt: world.clock.now() + 60_000 });
    const later = { timestamp: '2026-01-01T00:00:01.000Z', expiresAt: world.clock.now() + 61_000 };
    await world.dispatch({ ok: true, message, version: 'v' });
    await world.dispatch({ ok: true, message: { ...message, ...later }, version: 'v' });

    expect(jobs).toHaveLength(2);
    expect(jobs[1]).toEqual(jobs[0]);
  });

  it.each([1_000, 70_000])(
    'of %i bytes with different content sends no jobs, is counted and is logged',
    async (size) => {
      await subscribeTwo();
      const jobs = world.collectJobs();
      await world.publish(ofSize(size));
      await world.publish({ ...ofSize(size), type: 'order.cancelled' });

      expect(jobs).toHaveLength(1);
      expect(await world.record()).toMatchObject({ type: 'order.created', duplicates: 1 });
      expect(world.journal.facts.at(-1)).toMatchObject({
        fact: 'message_accepted',
        duplicate: true,
        differs: true,
        matched: 0,
      });
    },
  );

  it('of a large message that was erased before its jobs were sent causes no request', async () => {
    await subscribeTwo();
    await world.crashBeforeSending(() => world.publish(ofSize(70_000)));
    await eraseBody(world, world.key);
    await world.deliver(ofSize(70_000));

    expect(world.subscriber.seen).toEqual([]);
    expect(await world.delivery('s-0')).toMatchObject({ status: 'cancelled', reason: 'body_erased' });
    expect(world.payloads.stored.size).toBe(0);
  });

  it.each([
    [28.99, 'its jobs', 2],
    [29, 'none', 1],
    [35, 'none', 1],
  ])('that arrives after %d of 30 days sends %s', async (days, _, sent) => {
    await subscribeTwo('all');
    const jobs = world.collectJobs();
    await world.publish();
    await world.runFor(days * DAY);
    await world.publish();

    expect(jobs).toHaveLength(sent);
    expect(await world.record()).toMatchObject({ duplicates: 1 });
    expect(world.journal.facts.at(-1)).not.toHaveProperty('differs');
  });

  it.each([{}, { data: '"forged"' }])(
    'of a message for one subscription reaches no other: %j',
    async (other) => {
      await subscribeTwo();
      const jobs = world.collectJobs();
      const { ports } = world.dispatchContext;
      const context = { ...ports, registry: world.subscriptions, settings: world.settings };
      await publishToOne(context, aMessage(), 's-0');
      await world.publish(other);

      expect(jobs).toHaveLength(1);
      expect(world.journal.facts.at(-1)).toMatchObject({ fact: 'message_accepted', differs: true });
    },
  );

  it('completes a message whose record has no version', async () => {
    await subscribeTwo();
    const accept = world.messageRecords.accept.bind(world.messageRecords);
    world.messageRecords.accept = ({ accepted: _none, ...record }) => accept(record);
    const jobs = world.collectJobs();
    await world.publish();
    await world.publish({ type: 'order.cancelled' });

    expect(jobs).toHaveLength(2);
    expect(world.journal.facts.at(-1)).not.toHaveProperty('differs');
  });
});

it('a message with a delay whose dispatch crashed is sent when the delay after its acceptance is over', async () => {
  await world.subscribe('subscription-1');
  const acceptedAt = world.clock.now();
  await world.crashBeforeSending(() => world.publish({}, 60));
  await world.runFor(MINUTE / 2);
  const page = vi.spyOn(world.subscriptions, 'page');
  await world.publish({}, 60);
  await world.clock.run();
  expect(world.subscriber.seen.map(({ at }) => at - acceptedAt)).toEqual([MINUTE]);
  // The list of the acceptance may be in the cache of another instance.
  expect(page).toHaveBeenLastCalledWith('orders', 'fresh', undefined);
});

describe('a message id reused after its queue was deleted and recreated', () => {
  const OLD = { data: '"old"' };
  const NEW = { data: '"new"' };

  /** Creates the queue with two subscriptions that retry once, after an hour. `life` names this incarnation. */
  const createQueue = async (life: 'old' | 'new'): Promise<void> => {
    const createdAt = world.clock.now();
    await world.subscriptions.putQueue(aQueue({ createdAt }));
    const options = { _retry_policy: aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 3600 }) };
    for (const name of ['a', 'b']) await world.subscribe(`${life}-${name}`, { createdAt, options });
  };

  const recreate = async (afterMs = MINUTE, life: 'old' | 'new' = 'new'): Promise<void> => {
    await world.subscriptions.deleteQueue('orders', world.clock.now());
    await world.runFor(afterMs);
    await createQueue(life);
  };

  const bodiesAt = (id: string): string[] =>
    world.subscriber.seen
      .filter(({ request }) => request.url === world.urlOf(id))
      .map(({ request }) => request.body);

  const tally = async () => world.byHandContext.ports.deliveryListings.tally(await world.record());

  beforeEach(() => createQueue('old'));

  it.each([1, 10])('is a new message with its own counts and deliveries, in chunks of %i', async (perJob) => {
    world.settings.firstAttemptsPerJob = perJob;
    await world.publish(OLD);
    await world.runFor(MINUTE);
    await recreate();
    await world.publish(NEW);
    await world.runFor(MINUTE);

    for (const name of ['a', 'b']) {
      expect(bodiesAt(`old-${name}`)).toEqual([expect.stringContaining('"old"')]);
      expect(bodiesAt(`new-${name}`)).toEqual([expect.stringContaining('"new"')]);
    }
    expect(await world.record()).toMatchObject({ matched: 2, duplicates: 0 });
    expect(await tally()).toMatchObject({ delivered: 2 });
    const { deliveryListings } = world.byHandContext.ports;
    const found = await world.messageRecords.find(world.key);
    const page = found && (await deliveryListings.ofMessage(found, { limit: 10 }));
    expect(page?.items.map(({ key }) => key.subscriptionId)).toEqual(['new-a', 'new-b']);
  });

  it('is a new message even with identical content', async () => {
    await world.publish(OLD);
    await world.runFor(MINUTE);
    await recreate();
    await world.publish(OLD);
    await world.runFor(MINUTE);

    expect(bodiesAt('new-a')).toHaveLength(1);
    expect(world.facts('message_accepted')).toMatchObject([{ duplicate: false }, { duplicate: false }]);
  });

  it('keeps the new content if an attempt of the old message fails later', async () => {
    world.subscriber.script(world.urlOf('old-a'), [status(503, { takesMs: 10_000 })]);
    world.subscriber.script(world.urlOf('new-a'), [status(503), status(200)]);
    await world.publish(OLD);
    await world.runFor(1_000);
    await recreate(0);
    await world.publish(NEW);
    await world.runFor(180 * MINUTE);

    expect(bodiesAt('old-a')).toHaveLength(1);
    expect(bodiesAt('new-a')).toEqual([expect.stringContaining('"new"'), expect.stringContaining('"new"')]);
  });

  it('is not sent by a retry of the old message to a subscription of the same id', async () => {
    world.settings.retainMessages = 'all';
    world.subscriber.script(world.urlOf('old-a'), [status(503), status(200)]);
    await world.publish(OLD);
    await world.runFor(1_000);
    await recreate(0, 'old');
    await world.publish(NEW);
    await world.clock.run();
    expect(bodiesAt('old-a')).toEqual([expect.stringContaining('"old"'), expect.stringContaining('"new"')]);
  });

  it('leaves an old undeliverable delivery without a body if only the new message has one', async () => {
    Object.assign(world.settings, { retainMessages: 'all', firstAttemptsPerJob: 1 });
    world.subscriber.script(world.urlOf('old-a'), [status(404)]);
    const send = vi.spyOn(world.undeliverables, 'send').mockRejectedValue(new Error('SQS is down'));
    await world.publish(OLD);
    await world.runFor(1_000);
    await recreate(0);
    await world.publish(NEW);
    send.mockRestore();
    await world.clock.run();

    expect(world.undeliverables.sent).toMatchObject([{ delivery: { key: { subscriptionId: 'old-a' } } }]);
    expect(world.undeliverables.sent[0]).not.toHaveProperty('body');
  });

  it('ignores a late job of the old message', async () => {
    await world.publish(OLD, 900);
    await recreate();
    await world.deliver(NEW);

    expect(world.called()).toEqual(['new-a', 'new-b']);
    expect(await tally()).toMatchObject({ delivered: 2, cancelled: 0 });
  });

  it('does not send a late copy of the old message to the new subscribers', async () => {
    await world.publish(OLD);
    const sentAt = world.clock.now();
    await world.runFor(MINUTE);
    await recreate();
    await world.dispatch({ ok: true, message: aMessage(OLD) }, '{}', sentAt);
    await world.runFor(MINUTE);

    expect(bodiesAt('new-a')).toEqual([]);
    expect(await world.record()).toMatchObject({ duplicates: 1 });
  });

  it('can be cancelled manually before its first attempt', async () => {
    await world.publish(OLD);
    await world.runFor(MINUTE);
    await recreate();
    await world.publish(NEW, 600);
    const { firstBucket = 0 } = await world.record();
    const key = { ...world.key, subscriptionId: 'new-a', bucket: firstBucket, chunk: 0 };
    expect((await cancelDelivery(world.byHandContext, key, 'manual')).kind).toBe('cancelled');
    await world.clock.run();

    expect(world.called()).toEqual(['new-b', 'old-a', 'old-b']);
  });
});
