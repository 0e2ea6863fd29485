import { beforeEach, describe, expect, it } from 'vitest';
import { eraseBody } from '../../../functions/api/messages/messages.ts';
import type { FirstJob } from '../../../shared/domain/delivery/job.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { listOfMessage } from '../../../functions/api/deliveries/routes.ts';
import { publishToOne } from '../../../functions/api/subscriptions/test-subscription.ts';

const SUBSCRIBERS = ['https://a.test/', 'https://b.test/'];
const DAY = 86_400_000;
const KEY = { queue: 'orders', messageId: 'message-1' };

/** Two subscribers that fail twice, a minute apart, and then succeed. */
const aWorld = async (retainMessages: 'failed' | 'all'): Promise<PipelineWorld> => {
  const world = pipelineWorld();
  world.settings.retainMessages = retainMessages;
  await world.subscriptions.putQueue(aQueue());
  const policy = aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 60, maximum_delay: 60 });
  for (const [index, subscriber] of SUBSCRIBERS.entries()) {
    await world.subscriptions.addSubscription(
      aSubscription({ id: `s-${index}`, subscriber, options: { _retry_policy: policy } }),
    );
    world.subscriber.script(subscriber, [status(503), status(503), status(200)]);
  }
  return world;
};

const bodies = (world: PipelineWorld): Set<string> =>
  new Set(world.subscriber.seen.map(({ request }) => request.body));

/** Ways in which a second copy of a message may differ. */
const OTHERS = {
  type: { type: 'order.cancelled' },
  timestamp: { timestamp: '2026-01-01T00:00:05.000Z' },
  data: { data: '"other"' },
  ttl: { expiresAt: Date.UTC(2026, 0, 1) + 10_000 },
};

describe.each([
  { size: 1_000, retain: 'failed' },
  { size: 20_000, retain: 'failed' },
  { size: 1_000, retain: 'all' },
  { size: 20_000, retain: 'all' },
  { size: 70_000, retain: 'failed' },
] as const)('a message of $size bytes with retainMessages $retain', ({ size, retain }) => {
  const first = aMessage({ data: JSON.stringify('x'.repeat(size)) });

  it('is completed by a redelivery without reading the payload bucket, which dispatch may not read', async () => {
    const world = await aWorld(retain);
    await world.dispatch({ ok: true, message: first });
    await world.clock.run(world.clock.now() + 5_000);
    const get = world.payloads.get.bind(world.payloads);
    world.payloads.get = () => Promise.reject(new Error('AccessDenied'));
    await world.dispatch({ ok: true, message: first });
    world.payloads.get = get;
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(6);
    expect(bodies(world).size).toBe(1);
  });

  it.each(Object.entries(OTHERS))(
    'is sent as first accepted after a copy with a different %s',
    async (_what, other) => {
      const world = await aWorld(retain);
      await world.dispatch({ ok: true, message: first });
      await world.clock.run(world.clock.now() + 5_000);
      await world.dispatch({ ok: true, message: { ...first, ...other } });
      await world.clock.run();

      expect(world.subscriber.seen).toHaveLength(6);
      expect(bodies(world).size).toBe(1);
      expect(await world.delivery('s-0')).toMatchObject({ status: 'delivered' });
    },
  );

  it('expires by the accepted ttl, even if a copy has a different one', async () => {
    const world = await aWorld(retain);
    const expiresAt = world.clock.now() + 30_000;
    await world.dispatch({ ok: true, message: { ...first, expiresAt } });
    await world.clock.run(world.clock.now() + 5_000);
    await world.dispatch({ ok: true, message: { ...first, expiresAt: expiresAt + 3_600_000 } });
    await world.clock.run();

    expect(await world.delivery('s-0')).toMatchObject({ status: 'cancelled', reason: 'message_expired' });
  });

  it('is sent with the timestamp of its first copy if that is the time of sending', async () => {
    const world = await aWorld(retain);
    await world.dispatch({ ok: true, message: first, version: 'v' });
    await world.clock.run(world.clock.now() + 5_000);
    const later = { ...first, timestamp: '2026-01-01T00:00:05.000Z', expiresAt: world.clock.now() + 1 };
    await world.dispatch({ ok: true, message: later, version: 'v' });
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(6);
    expect(bodies(world).size).toBe(1);
  });
});

/** Collects the jobs of a message's copies instead of sending them. */
const collectJobs = (world: PipelineWorld): FirstJob[] => {
  const jobsSent: FirstJob[] = [];
  world.dispatchContext.ports.deliveryQueue.send = (jobs) => {
    jobsSent.push(...jobs);
    return Promise.resolve();
  };
  return jobsSent;
};

describe('a copy of a message', () => {
  it.each([1_000, 20_000, 70_000])('of %i bytes with the same content sends the same jobs', async (size) => {
    const world = await aWorld('failed');
    const jobsSent = collectJobs(world);
    const message = aMessage({
      data: JSON.stringify('x'.repeat(size)),
      expiresAt: world.clock.now() + 60_000,
    });
    await world.dispatch({ ok: true, message, version: 'v' });
    const later = { timestamp: '2026-01-01T00:00:01.000Z', expiresAt: world.clock.now() + 61_000 };
    await world.dispatch({ ok: true, message: { ...message, ...later }, version: 'v' });

    expect(jobsSent).toHaveLength(2);
    expect(jobsSent[1]).toEqual(jobsSent[0]);
  });

  it.each([1_000, 70_000])(
    'of %i bytes with different content sends no jobs, is counted and is logged',
    async (size) => {
      const world = await aWorld('failed');
      const jobsSent = collectJobs(world);
      const message = aMessage({ data: JSON.stringify('x'.repeat(size)) });
      await world.dispatch({ ok: true, message });
      await world.dispatch({ ok: true, message: { ...message, type: 'order.cancelled' } });

      expect(jobsSent).toHaveLength(1);
      expect(await world.messageRecords.find(KEY)).toMatchObject({ type: 'order.created', duplicates: 1 });
      expect(world.journal.facts.at(-1)).toMatchObject({
        fact: 'message_accepted',
        duplicate: true,
        differs: true,
        matched: 0,
      });
    },
  );

  it('of a large message that was erased before its jobs were sent causes no request', async () => {
    const world = await aWorld('failed');
    const message = aMessage({ data: JSON.stringify('x'.repeat(70_000)) });
    const { deliveryQueue } = world.dispatchContext.ports;
    world.dispatchContext.ports.deliveryQueue = { send: () => Promise.reject(new Error('crash')) };
    await expect(world.dispatch({ ok: true, message })).rejects.toThrow('crash');
    world.dispatchContext.ports.deliveryQueue = deliveryQueue;
    await eraseBody(world, KEY);
    await world.dispatch({ ok: true, message });
    await world.clock.run();

    expect(world.subscriber.seen).toEqual([]);
    expect(await world.delivery('s-0')).toMatchObject({ status: 'cancelled', reason: 'body_erased' });
    expect(world.payloads.stored.size).toBe(0);
  });

  it.each([
    { days: 28.99, sends: 'its jobs', jobs: 2 },
    { days: 29, sends: 'none', jobs: 1 },
    { days: 30, sends: 'none', jobs: 1 },
    { days: 35, sends: 'none', jobs: 1 },
  ])('that arrives after $days of 30 days sends $sends', async ({ days, jobs }) => {
    const world = await aWorld('all');
    const jobsSent = collectJobs(world);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(world.clock.now() + days * DAY);
    await world.dispatch({ ok: true, message: aMessage() });

    expect(jobsSent).toHaveLength(jobs);
    expect(await world.messageRecords.find(KEY)).toMatchObject({ duplicates: 1 });
    expect(world.journal.facts.at(-1)).not.toHaveProperty('differs');
  });

  it.each([{}, { data: '"forged"' }])(
    'of a message for one subscription reaches no other: %j',
    async (other) => {
      const world = await aWorld('failed');
      const jobsSent = collectJobs(world);
      const { ports } = world.byHandContext;
      const context = {
        ...world.dispatchContext.ports,
        registry: ports.subscriptions,
        settings: world.settings,
      };
      await publishToOne(context, aMessage(), 's-0');
      await world.dispatch({ ok: true, message: aMessage(other) });

      expect(jobsSent).toHaveLength(1);
      expect(world.journal.facts.at(-1)).toMatchObject({ fact: 'message_accepted', differs: true });
    },
  );

  it('completes a message whose record has no version', async () => {
    const world = await aWorld('failed');
    const { messageRecords } = world;
    world.dispatchContext.ports.messageRecords = {
      ...messageRecords,
      accept: ({ accepted: _none, ...record }) => messageRecords.accept(record),
    };
    const jobsSent = collectJobs(world);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.dispatch({ ok: true, message: aMessage({ type: 'order.cancelled' }) });

    expect(jobsSent).toHaveLength(2);
    expect(world.journal.facts.at(-1)).not.toHaveProperty('differs');
  });
});

const HOUR = 3_600_000;

let world: PipelineWorld;

/** Creates the queue with two subscriptions that retry once, after an hour. `life` names this incarnation. */
const createQueue = async (life: string): Promise<void> => {
  const createdAt = world.clock.now();
  await world.subscriptions.putQueue(aQueue({ createdAt }));
  for (const name of ['a', 'b'])
    await world.subscriptions.addSubscription(
      aSubscription({
        id: `${life}-${name}`,
        subscriber: urlOf(life, name),
        createdAt,
        options: { _retry_policy: aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 3600 }) },
      }),
    );
};

const urlOf = (life: string, name: string): string => `https://${name}.${life}.test/`;

const recreate = async (): Promise<void> => {
  await world.subscriptions.deleteQueue('orders', world.clock.now());
  await world.clock.run(world.clock.now() + 60_000);
  await createQueue('new');
};

/** Runs the next minute. */
const runMinute = (): Promise<void> => world.clock.run(world.clock.now() + 60_000);

const bodiesAt = (url: string): string[] =>
  world.subscriber.seen.filter(({ request }) => request.url === url).map(({ request }) => request.body);

describe('a message id reused after its queue was deleted and recreated', () => {
  beforeEach(async () => {
    world = pipelineWorld();
    await createQueue('old');
  });

  const first = aMessage({ data: '"old"' });
  const second = aMessage({ data: '"new"' });

  it.each([1, 10])('is a new message, in chunks of %i', async (firstAttemptsPerJob) => {
    world.settings.firstAttemptsPerJob = firstAttemptsPerJob;
    await world.dispatch({ ok: true, message: first });
    await runMinute();
    await recreate();
    await world.dispatch({ ok: true, message: second });
    await runMinute();

    for (const name of ['a', 'b']) {
      expect(bodiesAt(urlOf('old', name))).toEqual([expect.stringContaining('"old"')]);
      expect(bodiesAt(urlOf('new', name))).toEqual([expect.stringContaining('"new"')]);
      expect(await world.delivery(`new-${name}`)).toMatchObject({ status: 'delivered' });
    }
  });

  it('is a new message even with identical content', async () => {
    await world.dispatch({ ok: true, message: first });
    await runMinute();
    await recreate();
    await world.dispatch({ ok: true, message: first });
    await runMinute();

    expect(bodiesAt(urlOf('new', 'a'))).toHaveLength(1);
    expect(world.journal.facts.filter(({ fact }) => fact === 'message_accepted')).toMatchObject([
      { duplicate: false },
      { duplicate: false },
    ]);
  });

  it('has only the counts and deliveries of the new message', async () => {
    await world.dispatch({ ok: true, message: first });
    await runMinute();
    await recreate();
    await world.dispatch({ ok: true, message: second });
    await runMinute();

    const record = await world.messageRecords.find(KEY);
    expect(record).toMatchObject({ matched: 2, duplicates: 0 });
    const { deliveryListings } = world.byHandContext.ports;
    expect(record && (await deliveryListings.tally(record))).toMatchObject({ delivered: 2 });
    const page = await listOfMessage({ messageRecords: world.messageRecords, deliveryListings }, KEY, {
      limit: 10,
    });
    expect(page?.items.map(({ key }) => key.subscriptionId)).toEqual(['new-a', 'new-b']);
  });

  it('keeps the new content if an attempt of the old message fails later', async () => {
    world.subscriber.script(urlOf('old', 'a'), [status(503, { takesMs: 10_000 })]);
    world.subscriber.script(urlOf('new', 'a'), [status(503), status(200)]);
    await world.dispatch({ ok: true, message: first });
    await world.clock.run(world.clock.now() + 1_000);
    await world.subscriptions.deleteQueue('orders', world.clock.now());
    await createQueue('new');
    await world.dispatch({ ok: true, message: second });
    await world.clock.run(world.clock.now() + 3 * HOUR);

    expect(bodiesAt(urlOf('old', 'a'))).toHaveLength(1);
    expect(bodiesAt(urlOf('new', 'a'))).toEqual([
      expect.stringContaining('"new"'),
      expect.stringContaining('"new"'),
    ]);
  });

  it('leaves an old undeliverable delivery without a body if only the new message has one', async () => {
    world.settings.retainMessages = 'all';
    world.settings.firstAttemptsPerJob = 1;
    world.subscriber.script(urlOf('old', 'a'), [status(404)]);
    const { ports } = world.deliverContext;
    ports.undeliverables = { send: () => Promise.reject(new Error('SQS is down')) };
    await world.dispatch({ ok: true, message: first });
    await world.clock.run(world.clock.now() + 1_000);
    await world.subscriptions.deleteQueue('orders', world.clock.now());
    await createQueue('new');
    await world.dispatch({ ok: true, message: second });
    ports.undeliverables = world.undeliverables;
    await world.clock.run();

    expect(world.undeliverables.sent).toMatchObject([{ delivery: { key: { subscriptionId: 'old-a' } } }]);
    expect(world.undeliverables.sent[0]).not.toHaveProperty('body');
  });

  it('ignores a late job of the old message', async () => {
    await world.dispatch({ ok: true, message: first, delaySeconds: 900 });
    await recreate();
    await world.dispatch({ ok: true, message: second });
    await world.clock.run();

    expect(world.subscriber.seen.map(({ request }) => request.url).toSorted()).toEqual([
      urlOf('new', 'a'),
      urlOf('new', 'b'),
    ]);
    const record = await world.messageRecords.find(KEY);
    expect(record && (await world.byHandContext.ports.deliveryListings.tally(record))).toMatchObject({
      delivered: 2,
      cancelled: 0,
    });
  });

  it('does not send a late copy of the old message to the new subscribers', async () => {
    await world.dispatch({ ok: true, message: first });
    const sentAt = world.clock.now();
    await runMinute();
    await recreate();
    await world.dispatch({ ok: true, message: first }, '{}', sentAt);
    await runMinute();

    expect(bodiesAt(urlOf('new', 'a'))).toEqual([]);
    expect(await world.messageRecords.find(KEY)).toMatchObject({ duplicates: 1 });
  });

  it('can be cancelled manually before its first attempt', async () => {
    await world.dispatch({ ok: true, message: first });
    await runMinute();
    await recreate();
    await world.dispatch({ ok: true, message: second, delaySeconds: 600 });
    const record = await world.messageRecords.find(KEY);
    const key = { ...KEY, subscriptionId: 'new-a', bucket: record?.firstBucket ?? 0, chunk: 0 };
    expect((await cancelDelivery(world.byHandContext, key, 'manual')).kind).toBe('cancelled');
    await world.clock.run();

    expect(bodiesAt(urlOf('new', 'a'))).toEqual([]);
    expect(bodiesAt(urlOf('new', 'b'))).toHaveLength(1);
  });
});
