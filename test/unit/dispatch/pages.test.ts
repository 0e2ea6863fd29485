import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { divideIntoChunks, firstJobsFor } from '../../../functions/dispatch/pages.ts';
import { bucketIn, bucketsFor, endOfBuckets, partWith } from '../../../shared/domain/delivery/fan-out.ts';
import type { FirstJob } from '../../../shared/domain/delivery/job.ts';
import { noCounters } from '../../../shared/domain/delivery/statistics.ts';
import { UnfinishedError } from '../../../shared/domain/receives.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { MessageRecord } from '../../../shared/ports/messages.ts';
import { countFact } from '../../../shared/steps/counting-journal.ts';
import { aMessage, aSubscription } from '../../support/builders.ts';
import { SOME_TIME } from '../../support/delivery-builders.ts';
import { dispatchWorld, type DispatchWorld } from './dispatch-world.ts';

const idAt = (index: number): string => `s-${String(index).padStart(5, '0')}`;
const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => idAt(index));

/** A queue with `count` subscriptions, ten per page. Sent jobs are collected in `sent` and not delivered. */
const aPagedWorld = async (count: number, about: (index: number) => Partial<Subscription> = () => ({})) => {
  const world = await dispatchWorld();
  world.settings.pageSize = 10;
  for (const [index, id] of ids(count).entries()) await world.subscribe(id, about(index));
  return { ...world, sent: world.collectJobs() };
};

const named = (job: FirstJob): readonly string[] =>
  job.kind === 'chunk' ? job.subscriptionIds : [job.key.subscriptionId];

const allNamed = (jobs: readonly FirstJob[]): string[] => jobs.flatMap(named).sort();

const placeOf = ({ kind, key }: FirstJob): string =>
  kind === 'chunk' ? `${key.bucket}/${key.chunk}` : `${key.bucket}`;

/** The place of each subscription. Throws if one was sent to two places. */
const placesIn = (jobs: readonly FirstJob[]): Map<string, string> => {
  const places = new Map<string, string>();
  for (const job of jobs) {
    const place = placeOf(job);
    for (const id of named(job)) {
      if ((places.get(id) ?? place) !== place) throw new Error(`${id} was sent to two places`);
      places.set(id, place);
    }
  }
  return places;
};

/** Ids of the subscriptions that jobs were sent for, each once. */
const reached = (jobs: readonly FirstJob[]): string[] => [...placesIn(jobs).keys()].sort();

/** Publishes, and crashes dispatch before or after its `nth` call to a port. */
const crashAt = async (world: DispatchWorld, nth: number, moment: 'before' | 'after'): Promise<void> => {
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
  await expect(world.publish()).rejects.toThrow('crashed');
};

/** Publishes in this many invocations, each with time for one page. */
const publishIn = async (world: DispatchWorld, invocations: number): Promise<void> => {
  world.dispatchContext.hasTime = () => false;
  for (let receives = 1; receives < invocations; receives += 1)
    await expect(world.publish()).rejects.toThrow(UnfinishedError);
  await world.publish();
};

it('a message to one page of subscriptions has neither parts nor `until` in its record', async () => {
  const world = await aPagedWorld(10);
  await world.publish();
  expect(await world.record()).not.toHaveProperty('lastSubscriptionId');
  expect(await world.record()).not.toHaveProperty('parts');
  expect(allNamed(world.sent)).toEqual(ids(10));
});

describe('a message to several pages of subscriptions', () => {
  const filtered = { options: { event_types: ['none'] } };

  it('is sent to each subscription once, and its record contains their buckets', async () => {
    const world = await aPagedWorld(35);
    await world.publish();
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
    const { messageRecords, deliveryQueue, subscriptions } = world.dispatchContext.ports;
    const calls = [
      ['read', vi.spyOn(subscriptions, 'page')],
      ['recorded', vi.spyOn(messageRecords, 'addPart')],
      ['sent', vi.spyOn(deliveryQueue, 'send')],
    ] as const;
    await world.publish();
    const steps: string[] = [];
    for (const [step, { mock }] of calls) for (const order of mock.invocationCallOrder) steps[order] = step;
    const [first, other] = [
      ['read', 'sent'],
      ['read', 'recorded', 'sent'],
    ];
    expect(steps.filter(Boolean)).toEqual([first, other, other].flat());
  });

  it('counts filtered subscriptions of all pages', async () => {
    const world = await aPagedWorld(35, (index) => (index % 5 === 0 ? {} : filtered));
    await world.publish();
    expect(await world.record()).toMatchObject({ matched: 7, filtered: 28 });
  });

  it('uses no bucket for a page without matches', async () => {
    const world = await aPagedWorld(95, (index) => (index === 57 ? {} : filtered));
    await world.publish();
    expect(allNamed(world.sent)).toEqual([idAt(57)]);
    expect(endOfBuckets(await world.record())).toBe(1);
  });

  it('has at most 25 separate jobs for failing subscriptions', async () => {
    const failing = { since: 1, failures: 3 };
    const world = await aPagedWorld(60, (index) => (index % 2 === 0 ? { failing } : {}));
    await world.publish();
    expect((await world.record()).unchunked).toEqual(
      Array.from({ length: 25 }, (_, index) => idAt(2 * index)),
    );
    const alone = world.sent.filter(({ kind }) => kind === 'job');
    expect(allNamed(alone)).toEqual((await world.record()).unchunked);
    expect(allNamed(world.sent)).toEqual(ids(60));
  });

  it('is sent to the subscriptions that existed at its acceptance, however late their page is sent', async () => {
    const world = await aPagedWorld(25);
    await crashAt(world, 2, 'before');
    await world.runFor(60_000);
    await world.subscribe(idAt(30), { createdAt: world.clock.now() });
    await world.publish();
    expect(reached(world.sent)).toEqual(ids(25));
  });

  it('is sent to a subscription created by a clock that runs ahead', async () => {
    const world = await aPagedWorld(25, (index) =>
      index === 24 ? { createdAt: Date.UTC(2026, 0, 1) + 1_500 } : {},
    );
    await world.publish();
    expect(allNamed(world.sent)).toEqual(ids(25));
  });

  it.each([
    ['deleted', false],
    ['deleted and recreated', true],
  ])('is not continued after its queue is %s', async (_, isAgain) => {
    const world = await aPagedWorld(25);
    await crashAt(world, 2, 'before');
    const { lastSubscriptionId: _until, ...known } = await world.record();
    const page = world.subscriptions.page.bind(world.subscriptions);
    world.subscriptions.page = async (...args) => {
      const found = await page(...args);
      if (args[2] === undefined) return found;
      return isAgain && found ? { ...found, queueCreatedAt: found.queueCreatedAt + 1 } : undefined;
    };
    await world.publish();
    expect(await world.record()).toMatchObject({ ...known, duplicates: 1, matched: 10 });
    expect(await world.record()).not.toHaveProperty('lastSubscriptionId');
    expect(reached(world.sent)).toEqual(ids(10));
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
      await crashAt(world, call, moment);
      await world.publish();
      expect(reached(world.sent)).toEqual(ids(35));
      expect(allNamed(world.sent).length).toBeLessThanOrEqual(45);
      expect(await world.record()).toMatchObject({ matched: 35 });
      expect(await world.record()).not.toHaveProperty('lastSubscriptionId');
    },
  );

  it('is repeated for its last page only, after it was sent to all', async () => {
    const world = await aPagedWorld(35);
    await world.publish();
    world.sent.length = 0;
    await world.publish();
    expect(allNamed(world.sent)).toEqual(ids(35).slice(30));
  });

  it('is sent to all original subscriptions although the page size changed', async () => {
    const world = await aPagedWorld(25);
    await crashAt(world, 3, 'before');
    world.settings.pageSize = 3;
    await world.publish();
    expect(reached(world.sent)).toEqual(ids(25));
    expect(await world.record()).toMatchObject({ matched: 25 });
    expect(endOfBuckets(await world.record())).toBeGreaterThan(3);
  });
});

describe('a message that takes longer than one invocation', () => {
  it('continues on redelivery where it stopped, at least one page further each time', async () => {
    const world = await aPagedWorld(95);
    await publishIn(world, 9);
    expect(reached(world.sent)).toEqual(ids(95));
    expect(world.facts('message_unfinished')).toHaveLength(8);
  });

  it('is sent page by page although an earlier version recorded it whole, to the same buckets and chunks', async () => {
    const world = await aPagedWorld(95);
    world.settings.pageSize = 1_000;
    await world.publish();
    const before = placesIn(world.sent);
    world.sent.length = 0;
    world.settings.pageSize = 10;
    await publishIn(world, 10);
    expect(placesIn(world.sent)).toEqual(before);
    expect(await world.record()).toMatchObject({ matched: 95, buckets: 1 });
    expect(endOfBuckets(await world.record())).toBe(1);
  });

  it('counts each subscription once although its last page has grown', async () => {
    const world = await aPagedWorld(35);
    world.settings.pageSize = 1_000;
    await world.publish();
    world.settings.pageSize = 10;
    await world.publish();
    const counters = noCounters();
    for (const fact of world.journal.facts) countFact(fact, () => counters);
    expect(counters.counts).toMatchObject({ messages: 1, matched: 35 });
  });
});

describe('copies of a message that are dispatched concurrently', () => {
  it.each([2, 5])('%i of them are sent to all subscriptions, each to one place', async (copies) => {
    const world = await aPagedWorld(95);
    await Promise.all(Array.from({ length: copies }, () => world.publish()));
    expect(reached(world.sent)).toEqual(ids(95));
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
      await crashAt(world, 3, 'before');
      expect((await world.record()).parts).toHaveLength(1);
      deliveryQueue.send = send;
      return addPart(record, next);
    };
    await world.publish();
    await world.publish();
    expect(reached(world.sent)).toEqual(ids(35));
  });
});

describe('the jobs for the first attempts of a page', () => {
  const body = { kind: 'inline' as const, message: aMessage() };
  const key = { queue: 'orders', messageId: 'message-1' };
  const sending = { sentAt: SOME_TIME - 5, delayMs: 60_000 };
  const failing = { since: SOME_TIME, failures: 3 };

  /** Of a message to these subscriptions, of which `failed` were failing when it was accepted. */
  const recordOf = (
    matching: readonly string[],
    perJob: number,
    failed: readonly string[] = [],
  ): MessageRecord => {
    const buckets = bucketsFor(matching.length);
    const subscriptions = matching.map((id) =>
      aSubscription({ id, ...(failed.includes(id) && { failing }) }),
    );
    return {
      key,
      acceptedAt: SOME_TIME,
      listedAt: SOME_TIME,
      matched: matching.length,
      filtered: 0,
      duplicates: 0,
      buckets,
      ...divideIntoChunks(subscriptions, buckets, perJob),
      expiresAt: SOME_TIME,
    };
  };

  const jobsFor = (record: MessageRecord, matching: readonly string[]) =>
    firstJobsFor(matching, record, body, sending);

  const idSets = fc.uniqueArray(fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/), { minLength: 1, maxLength: 600 });
  const perJobs = fc.integer({ min: 1, max: 25 });

  it('contain each subscription once, with one job per chunk', () => {
    fc.assert(
      fc.property(idSets, perJobs, (matching, perJob) => {
        const jobs = jobsFor(recordOf(matching, perJob), matching);
        expect(allNamed(jobs)).toEqual(matching.toSorted());
        const chunks = jobs.flatMap((job) => (job.kind === 'chunk' ? [placeOf(job)] : []));
        expect(new Set(chunks).size).toBe(chunks.length);
      }),
      { numRuns: 50 },
    );
  });

  it('keep each subscription in its chunk when others match on redelivery', () => {
    fc.assert(
      fc.property(idSets, idSets, perJobs, (matching, later, perJob) => {
        const record = recordOf(matching, perJob, matching.slice(0, 3));
        const first = placesIn(jobsFor(record, matching));
        const again = placesIn(jobsFor(record, [...new Set([...later, ...matching])]));
        const fewer = placesIn(jobsFor(record, matching.slice(1)));
        for (const [id, place] of first) expect(again.get(id)).toBe(place);
        for (const [id, place] of fewer) expect(first.get(id)).toBe(place);
      }),
      { numRuns: 50 },
    );
  });

  it('contain about as many deliveries each as configured', () => {
    const jobs = jobsFor(recordOf(ids(1_000), 10), ids(1_000));
    expect(jobs.length).toBeGreaterThan(90);
    expect(jobs.length).toBeLessThanOrEqual(100);
    expect(Math.max(...jobs.map((job) => named(job).length))).toBeLessThan(30);
  });

  it('contain the times of acceptance, sending and due time, in both kinds', () => {
    const times = { acceptedAt: SOME_TIME, sentAt: SOME_TIME - 5, dueAt: SOME_TIME + 60_000, body };
    expect(jobsFor(recordOf(['a', 'b'], 10), ['a', 'b'])).toEqual([
      { kind: 'chunk', key: { ...key, bucket: 0, chunk: 0 }, subscriptionIds: ['a', 'b'], ...times },
    ]);
    expect(jobsFor(recordOf(['a'], 10), ['a'])).toEqual([
      { kind: 'job', key: { ...key, subscriptionId: 'a', bucket: 0 }, attempt: 1, ...times },
    ]);
  });

  it('are single if the message record has no chunks, like older records', () => {
    const record = recordOf(ids(300), 1);
    expect(record).not.toHaveProperty('chunks');
    const jobs = jobsFor(record, ids(300));
    expect(jobs.filter(({ kind }) => kind === 'job')).toHaveLength(300);
    expect(new Set(jobs.map(({ key: { bucket } }) => bucket))).toEqual(new Set([0, 1]));
  });

  it('are separate for a failing subscription, so that no other waits for it, also after it recovers', () => {
    const record = recordOf(['a', 'b', 'c'], 10, ['b']);
    expect(record).toMatchObject({ chunks: 1, unchunked: ['b'] });
    const placed = placesIn(jobsFor(record, ['a', 'b', 'c', 'later']));
    expect(Object.fromEntries(placed)).toEqual({ a: '0/0', b: '0', c: '0/0', later: '0/0' });
  });

  it('leave a single other subscription without a chunk', () => {
    const two = [aSubscription({ id: 'a' }), aSubscription({ id: 'b', failing })];
    expect(divideIntoChunks(two, 1, 10)).toEqual({});
  });
});
