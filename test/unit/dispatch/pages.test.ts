import { describe, expect, it } from 'vitest';
import { bucketIn, endOfBuckets, partWith } from '../../../shared/domain/delivery/fan-out.ts';
import type { FirstJob } from '../../../shared/domain/delivery/job.ts';
import { noCounters } from '../../../shared/domain/delivery/statistics.ts';
import { UnfinishedError } from '../../../shared/domain/receives.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { MessageRecord } from '../../../shared/ports/messages.ts';
import { countFact } from '../../../shared/steps/counting-journal.ts';
import { aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';

const KEY = { queue: 'orders', messageId: 'message-1' };
const PUBLISHED = { ok: true, message: aMessage() } as const;

const idAt = (index: number): string => `s-${String(index).padStart(5, '0')}`;

/** A queue with `count` subscriptions, ten per page. Sent jobs are collected in `sent` and not delivered. */
const aPagedWorld = async (count: number, about: (index: number) => Partial<Subscription> = () => ({})) => {
  const world = pipelineWorld();
  world.settings.pageSize = 10;
  await world.subscriptions.putQueue(aQueue());
  const subscribe = (index: number, more: Partial<Subscription> = {}) =>
    world.subscriptions.addSubscription(
      aSubscription({ id: idAt(index), subscriber: `https://s.test/${index}`, ...more }),
    );
  for (let index = 0; index < count; index += 1) await subscribe(index, about(index));
  const sent: FirstJob[] = [];
  world.dispatchContext.ports.deliveryQueue.send = (jobs) => {
    sent.push(...jobs);
    return Promise.resolve();
  };
  const record = async (): Promise<MessageRecord> => {
    const found = await world.messageRecords.find(KEY);
    if (found === undefined) throw new Error('the message has no record');
    return found;
  };
  return { ...world, subscribe, sent, record };
};

const named = (job: FirstJob): readonly string[] =>
  job.kind === 'chunk' ? job.subscriptionIds : [job.key.subscriptionId];

const allNamed = (jobs: readonly FirstJob[]): string[] => jobs.flatMap(named).sort();

/** The place of each subscription. Throws if one was sent to two places. */
const placesIn = (jobs: readonly FirstJob[]): Map<string, string> => {
  const places = new Map<string, string>();
  for (const job of jobs) {
    const place = job.kind === 'chunk' ? `${job.key.bucket}/${job.key.chunk}` : `${job.key.bucket}`;
    for (const id of named(job)) {
      if ((places.get(id) ?? place) !== place) throw new Error(`${id} was sent to two places`);
      places.set(id, place);
    }
  }
  return places;
};

const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => idAt(index));

/** Makes the `nth` following call to a port crash dispatch, before or after the call. */
const crashAt = (world: PipelineWorld, nth: number, moment: 'before' | 'after'): void => {
  let calls = 0;
  const { messageRecords, deliveryQueue } = world.dispatchContext.ports;
  const crashing =
    <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      calls += 1;
      if (calls === nth && moment === 'before') throw new Error('crashed');
      const result = await call(...args);
      if (calls === nth && moment === 'after') throw new Error('crashed');
      return result;
    };
  messageRecords.addPart = crashing(messageRecords.addPart.bind(messageRecords));
  deliveryQueue.send = crashing(deliveryQueue.send.bind(deliveryQueue));
};

describe('a message to one page of subscriptions', () => {
  it('has neither parts nor `until` in its record', async () => {
    const world = await aPagedWorld(10);
    await world.dispatch(PUBLISHED);
    expect(await world.record()).not.toHaveProperty('lastSubscriptionId');
    expect(await world.record()).not.toHaveProperty('parts');
    expect(allNamed(world.sent)).toEqual(ids(10));
  });
});

describe('a message to several pages of subscriptions', () => {
  it('is sent to each subscription once, and its record contains their buckets', async () => {
    const world = await aPagedWorld(35);
    await world.dispatch(PUBLISHED);
    const record = await world.record();
    expect(allNamed(world.sent)).toEqual(ids(35));
    expect(record).toMatchObject({ matched: 35, filtered: 0, duplicates: 0 });
    expect(record).not.toHaveProperty('lastSubscriptionId');
    expect(record.parts?.map(({ after }) => after)).toEqual([idAt(9), idAt(19), idAt(29)]);
    for (const [id, place] of placesIn(world.sent))
      expect(Number(place.split('/')[0])).toBe(bucketIn(partWith(record, id), id));
    expect(endOfBuckets(record)).toBe(4);
  });

  it('is read, recorded and sent page by page', async () => {
    const world = await aPagedWorld(25);
    const steps: string[] = [];
    const { messageRecords, deliveryQueue, subscriptions } = world.dispatchContext.ports;
    const addPart = messageRecords.addPart.bind(messageRecords);
    const send = deliveryQueue.send.bind(deliveryQueue);
    const page = subscriptions.page.bind(subscriptions);
    subscriptions.page = (...args) => {
      steps.push('read');
      return page(...args);
    };
    messageRecords.addPart = (...args) => {
      steps.push('recorded');
      return addPart(...args);
    };
    deliveryQueue.send = (jobs) => {
      steps.push('sent');
      return send(jobs);
    };
    await world.dispatch(PUBLISHED);
    expect(steps).toEqual(['read', 'sent', 'read', 'recorded', 'sent', 'read', 'recorded', 'sent']);
  });

  it('counts filtered subscriptions of all pages', async () => {
    const world = await aPagedWorld(35, (index) =>
      index % 5 === 0 ? {} : { options: { event_types: ['none'] } },
    );
    await world.dispatch(PUBLISHED);
    expect(await world.record()).toMatchObject({ matched: 7, filtered: 28 });
  });

  it('uses no bucket for a page without matches', async () => {
    const world = await aPagedWorld(95, (index) =>
      index === 57 ? {} : { options: { event_types: ['none'] } },
    );
    await world.dispatch(PUBLISHED);
    expect(allNamed(world.sent)).toEqual([idAt(57)]);
    expect(endOfBuckets(await world.record())).toBe(1);
  });

  it('has at most 25 separate jobs for failing subscriptions', async () => {
    const failing = { since: 1, failures: 3 };
    const world = await aPagedWorld(60, (index) => (index % 2 === 0 ? { failing } : {}));
    await world.dispatch(PUBLISHED);
    expect((await world.record()).unchunked).toEqual(
      Array.from({ length: 25 }, (_, index) => idAt(2 * index)),
    );
    const alone = world.sent.filter(({ kind }) => kind === 'job');
    expect(allNamed(alone)).toEqual((await world.record()).unchunked);
    expect(allNamed(world.sent)).toEqual(ids(60));
  });

  it('is sent to the subscriptions that existed at its acceptance, however late their page is sent', async () => {
    const world = await aPagedWorld(25);
    crashAt(world, 2, 'before');
    await expect(world.dispatch(PUBLISHED)).rejects.toThrow('crashed');
    await world.clock.run(world.clock.now() + 60_000);
    await world.subscribe(30, { createdAt: world.clock.now() });
    await world.dispatch(PUBLISHED);
    expect([...new Set(allNamed(world.sent))]).toEqual(ids(25));
  });

  it('is sent to a subscription created by a clock that runs ahead', async () => {
    const world = await aPagedWorld(25, (index) =>
      index === 24 ? { createdAt: pipelineWorld().clock.now() + 1_500 } : {},
    );
    await world.dispatch(PUBLISHED);
    expect(allNamed(world.sent)).toEqual(ids(25));
  });

  it('is not continued after its queue is deleted, even if recreated', async () => {
    for (const isAgain of [false, true]) {
      const world = await aPagedWorld(25);
      crashAt(world, 2, 'before');
      await expect(world.dispatch(PUBLISHED)).rejects.toThrow('crashed');
      const known = await world.record();
      const page = world.subscriptions.page.bind(world.subscriptions);
      world.dispatchContext.ports.subscriptions.page = async (...args) => {
        const found = await page(...args);
        if (args[2] === undefined) return found;
        return isAgain && found ? { ...found, queueCreatedAt: found.queueCreatedAt + 1 } : undefined;
      };
      await world.dispatch(PUBLISHED);
      const { lastSubscriptionId: _until, ...rest } = known;
      expect(await world.record()).toMatchObject({ ...rest, duplicates: 1, matched: 10 });
      expect(await world.record()).not.toHaveProperty('lastSubscriptionId');
      expect([...new Set(allNamed(world.sent))]).toEqual(ids(10));
    }
  });
});

describe('a message to several pages whose dispatch crashed', () => {
  it.each(
    [1, 2, 3, 4, 5, 6, 7].flatMap((call) =>
      (['before', 'after'] as const).map((moment) => ({ call, moment })),
    ),
  )(
    '$moment its call $call is sent to all others on redelivery, and at most one page twice',
    async ({ call, moment }) => {
      const world = await aPagedWorld(35);
      crashAt(world, call, moment);
      await expect(world.dispatch(PUBLISHED)).rejects.toThrow('crashed');
      await world.dispatch(PUBLISHED);
      expect([...placesIn(world.sent).keys()].sort()).toEqual(ids(35));
      expect(allNamed(world.sent).length).toBeLessThanOrEqual(45);
      expect(await world.record()).toMatchObject({ matched: 35 });
      expect(await world.record()).not.toHaveProperty('lastSubscriptionId');
    },
  );

  it('is repeated for its last page only, after it was sent to all', async () => {
    const world = await aPagedWorld(35);
    await world.dispatch(PUBLISHED);
    world.sent.length = 0;
    await world.dispatch(PUBLISHED);
    expect(allNamed(world.sent)).toEqual(ids(35).slice(30));
  });

  it('is sent to all original subscriptions although the page size changed', async () => {
    const world = await aPagedWorld(25);
    crashAt(world, 3, 'before');
    await expect(world.dispatch(PUBLISHED)).rejects.toThrow('crashed');
    world.settings.pageSize = 3;
    await world.dispatch(PUBLISHED);
    expect([...placesIn(world.sent).keys()].sort()).toEqual(ids(25));
    expect(await world.record()).toMatchObject({ matched: 25 });
    expect(endOfBuckets(await world.record())).toBeGreaterThan(3);
  });
});

describe('a message that takes longer than one invocation', () => {
  it('continues on redelivery where it stopped, at least one page further each time', async () => {
    const world = await aPagedWorld(95);
    world.dispatchContext.hasTime = () => false;
    let receives = 0;
    for (let isOver = false; !isOver;) {
      receives += 1;
      isOver = await world.dispatch(PUBLISHED).then(
        () => true,
        (error: unknown) => {
          expect(error).toBeInstanceOf(UnfinishedError);
          return false;
        },
      );
    }
    expect(receives).toBe(9);
    expect([...placesIn(world.sent).keys()].sort()).toEqual(ids(95));
    expect(world.journal.facts.filter(({ fact }) => fact === 'message_unfinished')).toHaveLength(8);
  });

  it('is sent page by page although an earlier version recorded it whole, to the same buckets and chunks', async () => {
    const world = await aPagedWorld(95);
    world.settings.pageSize = 1_000;
    await world.dispatch(PUBLISHED);
    const before = placesIn(world.sent);
    world.sent.length = 0;
    world.settings.pageSize = 10;
    world.dispatchContext.hasTime = () => false;
    for (let receives = 1; receives < 10; receives += 1)
      await expect(world.dispatch(PUBLISHED)).rejects.toThrow(UnfinishedError);
    await world.dispatch(PUBLISHED);
    expect(placesIn(world.sent)).toEqual(before);
    expect(await world.record()).toMatchObject({ matched: 95, buckets: 1 });
    expect(endOfBuckets(await world.record())).toBe(1);
  });

  it('counts each subscription once although its last page has grown', async () => {
    const world = await aPagedWorld(35);
    world.settings.pageSize = 1_000;
    await world.dispatch(PUBLISHED);
    world.settings.pageSize = 10;
    await world.dispatch(PUBLISHED);
    const counters = noCounters();
    for (const fact of world.journal.facts) countFact(fact, () => counters);
    expect(counters.counts).toMatchObject({ messages: 1, matched: 35 });
  });
});

describe('copies of a message that are dispatched concurrently', () => {
  it.each([2, 5])('%i of them are sent to all subscriptions, each to one place', async (copies) => {
    const world = await aPagedWorld(95);
    await Promise.all(Array.from({ length: copies }, () => world.dispatch(PUBLISHED)));
    expect([...placesIn(world.sent).keys()].sort()).toEqual(ids(95));
    expect(await world.record()).toMatchObject({ matched: 95, duplicates: copies - 1 });
    expect((await world.record()).parts).toHaveLength(9);
  });

  it('are sent to all, although one recorded a page and crashed before it sent the jobs', async () => {
    const world = await aPagedWorld(35);
    const { messageRecords, deliveryQueue } = world.dispatchContext.ports;
    const send = deliveryQueue.send.bind(deliveryQueue);
    const addPart = messageRecords.addPart.bind(messageRecords);
    messageRecords.addPart = async (record, next) => {
      messageRecords.addPart = addPart;
      // The other copy sends the first page again, and records the second.
      crashAt(world, 3, 'before');
      await expect(world.dispatch(PUBLISHED)).rejects.toThrow('crashed');
      expect((await world.record()).parts).toHaveLength(1);
      deliveryQueue.send = send;
      return addPart(record, next);
    };
    await world.dispatch(PUBLISHED);
    await world.dispatch(PUBLISHED);
    expect([...placesIn(world.sent).keys()].sort()).toEqual(ids(35));
  });
});
