import { describe, expect, it } from 'vitest';
import { endOfBuckets } from '../../../shared/domain/delivery/fan-out.ts';
import { noCounters } from '../../../shared/domain/delivery/statistics.ts';
import { UnfinishedError } from '../../../shared/domain/receives.ts';
import { countFact } from '../../../shared/steps/counting-journal.ts';
import { allNamed, aPagedWorld, crashAt, ids, placesIn, PUBLISHED } from './paged-world.ts';

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
