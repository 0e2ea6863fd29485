import { beforeEach, describe, expect, it } from 'vitest';
import { listOfMessage } from '../../../functions/api/deliveries/routes.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const HOUR = 3_600_000;
const KEY = { queue: 'orders', messageId: 'message-1' };

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

beforeEach(async () => {
  world = pipelineWorld();
  await createQueue('old');
});

describe('a message id reused after its queue was deleted and recreated', () => {
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
