import { describe, expect, it } from 'vitest';
import { bucketIn, endOfBuckets, partWith } from '../../../shared/domain/delivery/fan-out.ts';
import { pipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { allNamed, aPagedWorld, crashAt, idAt, ids, placesIn, PUBLISHED } from './paged-world.ts';

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
