import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bucketsFor } from '../../../shared/domain/delivery/fan-out.ts';
import type { FirstJob } from '../../../shared/domain/delivery/job.ts';
import type { MessageRecord } from '../../../shared/ports/messages.ts';
import { aMessage, aSubscription } from '../../support/builders.ts';
import { SOME_TIME } from '../../support/delivery-builders.ts';
import { divideIntoChunks, firstJobsFor } from '../../../functions/dispatch/pages.ts';

const body = { kind: 'inline' as const, message: aMessage() };
const key = { queue: 'orders', messageId: 'message-1' };
const sending = { sentAt: SOME_TIME - 5, delayMs: 0 };

const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => `s-${index}`);

const failing = { since: SOME_TIME, failures: 3 };

const recordOf = (
  matching: readonly string[],
  perJob: number,
  failed: readonly string[] = [],
): MessageRecord => {
  const subscriptions = matching.map((id) =>
    aSubscription({ id, ...(failed.includes(id) ? { failing } : {}) }),
  );
  const buckets = bucketsFor(matching.length);
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

const idsIn = (job: FirstJob): readonly string[] =>
  job.kind === 'chunk' ? job.subscriptionIds : [job.key.subscriptionId];

const placeOf = (job: FirstJob): string =>
  job.kind === 'chunk' ? `chunk ${job.key.bucket}/${job.key.chunk}` : `alone ${job.key.bucket}`;

/** The place of each subscription: its chunk, or a single job. */
const placesOf = (jobs: readonly FirstJob[]): Map<string, string> =>
  new Map(jobs.flatMap((job) => idsIn(job).map((id): [string, string] => [id, placeOf(job)])));

const idSets = fc.uniqueArray(fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/), { minLength: 1, maxLength: 600 });

describe('the jobs for the first attempts of a message', () => {
  it('contain each subscription once, with one job per chunk', () => {
    fc.assert(
      fc.property(idSets, fc.integer({ min: 1, max: 25 }), (matching, perJob) => {
        const jobs = firstJobsFor(matching, recordOf(matching, perJob), body, sending);
        expect(jobs.flatMap(idsIn).toSorted()).toEqual(matching.toSorted());
        const chunks = jobs.filter(({ kind }) => kind === 'chunk').map(placeOf);
        expect(new Set(chunks).size).toBe(chunks.length);
      }),
      { numRuns: 50 },
    );
  });

  it('keep each subscription in its chunk when others match on redelivery', () => {
    fc.assert(
      fc.property(idSets, idSets, fc.integer({ min: 1, max: 25 }), (matching, later, perJob) => {
        const record = recordOf(matching, perJob, matching.slice(0, 3));
        const first = placesOf(firstJobsFor(matching, record, body, sending));
        const again = placesOf(firstJobsFor([...new Set([...later, ...matching])], record, body, sending));
        const fewer = placesOf(firstJobsFor(matching.slice(1), record, body, sending));
        for (const [id, place] of first) expect(again.get(id)).toBe(place);
        for (const [id, place] of fewer) expect(first.get(id)).toBe(place);
      }),
      { numRuns: 50 },
    );
  });

  it('contain about as many deliveries each as configured', () => {
    const jobs = firstJobsFor(ids(1_000), recordOf(ids(1_000), 10), body, sending);
    expect(jobs.length).toBeGreaterThan(90);
    expect(jobs.length).toBeLessThanOrEqual(100);
    expect(Math.max(...jobs.map((job) => idsIn(job).length))).toBeLessThan(30);
  });

  it('contain the times of acceptance, sending and due time, in both kinds', () => {
    const times = { acceptedAt: SOME_TIME, sentAt: SOME_TIME - 5, dueAt: SOME_TIME + 60_000, body };
    const delayed = { ...sending, delayMs: 60_000 };
    expect(firstJobsFor(['a', 'b'], recordOf(['a', 'b'], 10), body, delayed)).toEqual([
      { kind: 'chunk', key: { ...key, bucket: 0, chunk: 0 }, subscriptionIds: ['a', 'b'], ...times },
    ]);
    expect(firstJobsFor(['a'], recordOf(['a'], 10), body, delayed)).toEqual([
      { kind: 'job', key: { ...key, subscriptionId: 'a', bucket: 0 }, attempt: 1, ...times },
    ]);
  });

  it('are single if the message record has no chunks, like older records', () => {
    const record = recordOf(ids(300), 1);
    expect(record).not.toHaveProperty('chunks');
    const jobs = firstJobsFor(ids(300), record, body, sending);
    expect(jobs.filter(({ kind }) => kind === 'job')).toHaveLength(300);
    expect(new Set(jobs.map(({ key: { bucket } }) => bucket))).toEqual(new Set([0, 1]));
  });
});

describe('a subscription that was failing when the message was accepted', () => {
  it('gets a separate job, so that no other delivery waits for it', () => {
    const record = recordOf(['a', 'b', 'c', 'd'], 10, ['b']);
    expect(record).toMatchObject({ chunks: 1, unchunked: ['b'] });
    const placed = placesOf(firstJobsFor(['a', 'b', 'c', 'd'], record, body, sending));
    expect(placed).toEqual(
      new Map([
        ['a', 'chunk 0/0'],
        ['c', 'chunk 0/0'],
        ['d', 'chunk 0/0'],
        ['b', 'alone 0'],
      ]),
    );
  });

  it('leaves a single other subscription without a chunk', () => {
    expect(
      divideIntoChunks([aSubscription({ id: 'a' }), aSubscription({ id: 'b', failing })], 1, 10),
    ).toEqual({});
  });

  it('keeps its recorded place after it recovers, and so does one that fails later', () => {
    const record = recordOf(['a', 'b', 'c'], 10, ['b']);
    const placed = placesOf(firstJobsFor(['a', 'b', 'c', 'later'], record, body, sending));
    expect(placed.get('b')).toBe('alone 0');
    expect(placed.get('later')).toBe('chunk 0/0');
  });

  it('is separate only up to 25 times per message, so that the record stays small', () => {
    const all = ids(100);
    const record = recordOf(all, 10, all);
    expect(record.unchunked).toEqual(all.slice(0, 25));
    expect(record.chunks).toBe(8);
    const jobs = firstJobsFor(all, record, body, sending);
    expect(jobs.flatMap(idsIn).toSorted()).toEqual(all.toSorted());
  });
});
