import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { BodyLocation } from '../../shared/domain/message/body.ts';
import type { MessageKey } from '../../shared/domain/message/message.ts';
import type { MessageRecord, MessageRecords, NextPart } from '../../shared/ports/messages.ts';
import { aMessage } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';

const aKey = (): MessageKey => ({ queue: 'orders.eu_1', messageId: randomUUID() });

export const aRecord = (overrides: Partial<MessageRecord> = {}): MessageRecord => ({
  key: aKey(),
  acceptedAt: SOME_TIME,
  listedAt: SOME_TIME - 5,
  type: 'order.created',
  matched: 3,
  filtered: 2,
  duplicates: 0,
  buckets: 1,
  accepted: { digest: 'Yya4sDZnHkxiD0pk', timestamp: '2027-01-15T00:00:00.000Z', expiresAt: SOME_TIME + 60 },
  expiresAt: SOME_TIME + 1000,
  ...overrides,
});

const inline = ({ queue, messageId }: MessageKey, data = '{"ü":12345678901234567890}'): BodyLocation => ({
  kind: 'inline',
  message: aMessage({ queue, id: messageId, originalId: 'an id 🐘', expiresAt: SOME_TIME, data }),
});
const stored = { kind: 'stored', payloadKey: 'orders/2027-01-15/abc' } as const;

const acceptedBy =
  (records: MessageRecords) =>
  async (overrides?: Partial<MessageRecord>): Promise<MessageRecord> => {
    const record = aRecord(overrides);
    expect(await records.accept(record)).toEqual({ kind: 'accepted', record });
    return record;
  };

/** Contract of message record stores: the first record stays, copies are counted, the first body is kept. */
const describeRecords = (name: string, make: () => MessageRecords): void => {
  describe(`message records ${name}`, () => {
    const records = make();
    const accepted = acceptedBy(records);

    it('keep a record without a type or version, and one with its body', async () => {
      const key = aKey();
      const {
        type: _,
        accepted: _accepted,
        ...untyped
      } = aRecord({ key, body: inline(key), retentionDays: 15 });
      await records.accept(untyped);
      expect(await records.find(key)).toEqual(untyped);
    });

    it('keep why the catalogue of event types refuses a message', async () => {
      const eventFault = { reason: 'event_invalid', path: '/lines/0', detail: 'must be text' } as const;
      const { key } = await accepted({ eventFault });
      expect(await records.find(key)).toMatchObject({ eventFault });
    });

    it('count a copy and return the record as first written', async () => {
      const record = await accepted();
      const others = { acceptedAt: SOME_TIME + 9, matched: 9, buckets: 9, expiresAt: SOME_TIME * 2 };
      const copy = { ...record, ...others };
      for (const duplicates of [1, 2])
        expect(await records.accept(copy)).toEqual({ kind: 'duplicate', record: { ...record, duplicates } });
      expect(await records.find(record.key)).toEqual({ ...record, duplicates: 2 });
    });

    it('accept one of twenty concurrent copies, and count the others', async () => {
      const key = aKey();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, matched) => records.accept(aRecord({ key, matched }))),
      );
      const [first, ...more] = answers.filter(({ kind }) => kind === 'accepted');
      expect(more).toEqual([]);
      for (const { record } of answers) expect(record.matched).toBe(first?.record.matched);
      expect(answers.map(({ record }) => record.duplicates).sort((one, other) => one - other)).toEqual(
        Array.from({ length: 20 }, (_, index) => index),
      );
    });

    it('distinguish messages of the same id by queue', async () => {
      const record = await accepted();
      await accepted({ key: { ...record.key, queue: 'other' } });
    });

    it.each([
      ['inline', inline],
      ['in the payload bucket', () => stored],
    ])('keep a body %s', async (_, bodyFor) => {
      const record = await accepted();
      await records.keepBody(record, bodyFor(record.key), record.expiresAt);
      expect((await records.find(record.key))?.body).toEqual(bodyFor(record.key));
    });

    it('keep the first body, and the latest expiry requested', async () => {
      const record = await accepted();
      const latest = SOME_TIME + 45 * 24 * 60 * 60 * 1000;
      await records.keepBody(record, inline(record.key), latest);
      await records.keepBody(record, stored, SOME_TIME);
      const found = await records.find(record.key);
      expect(found).toEqual({ ...record, body: inline(record.key), expiresAt: found?.expiresAt });
      expect(found?.expiresAt).toBeGreaterThanOrEqual(latest);
      await records.keepBody(record, stored, latest * 2);
      expect((await records.find(record.key))?.body).toEqual(inline(record.key));
      expect((await records.find(record.key))?.expiresAt).toBeGreaterThanOrEqual(latest * 2);
    });

    it('keep a body on a record that expires later than the body must', async () => {
      const record = await accepted({ expiresAt: SOME_TIME * 2 });
      await records.keepBody(record, stored, SOME_TIME);
      expect(await records.find(record.key)).toEqual({ ...record, body: stored });
    });

    it('keep one of twenty concurrent bodies', async () => {
      const record = await accepted();
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          records.keepBody(record, inline(record.key, String(index)), SOME_TIME + index),
        ),
      );
      const found = await records.find(record.key);
      expect(found?.body?.kind).toBe('inline');
      await records.keepBody(record, stored, SOME_TIME);
      expect((await records.find(record.key))?.body).toEqual(found?.body);
    });

    it('keep no body of a message without a record', async () => {
      const key = aKey();
      await records.keepBody({ key, acceptedAt: SOME_TIME }, stored, SOME_TIME);
      expect(await records.find(key)).toBeUndefined();
    });

    it('still count copies after a body is stored', async () => {
      const record = await accepted();
      await records.keepBody(record, stored, SOME_TIME);
      expect(await records.accept(record)).toMatchObject({
        kind: 'duplicate',
        record: { duplicates: 1, body: stored },
      });
    });

    it('erase a body permanently: no body is stored again', async () => {
      const key = aKey();
      const record = await accepted({ key, body: inline(key) });
      const erased = { ...aRecord({ key }), erasedAt: SOME_TIME + 7 };
      expect(await records.eraseBody(key, SOME_TIME + 7)).toEqual(erased);
      expect(await records.find(key)).toEqual(erased);
      expect(await records.keepBody({ key, acceptedAt: SOME_TIME }, stored, SOME_TIME)).toBe('erased');
      const again = await records.accept(record);
      expect(again).toMatchObject({ kind: 'duplicate', record: { duplicates: 1, erasedAt: SOME_TIME + 7 } });
      expect(again.record).not.toHaveProperty('body');
      expect(await records.find(key)).toEqual(again.record);
    });

    it('erase a missing body, so that none can be stored', async () => {
      const record = await accepted();
      await records.eraseBody(record.key, SOME_TIME);
      expect(await records.keepBody(record, stored, SOME_TIME)).toBe('erased');
      const { expiresAt, ...found } = (await records.find(record.key)) ?? record;
      expect({ ...found, expiresAt: record.expiresAt }).toEqual({ ...record, erasedAt: SOME_TIME });
      expect(expiresAt).toBeGreaterThanOrEqual(record.expiresAt);
    });

    it('keep the time of the first erasure, as long as retries may need it', async () => {
      const record = await accepted({ body: stored });
      await records.eraseBody(record.key, SOME_TIME);
      expect(await records.eraseBody(record.key, SOME_TIME + 9)).toMatchObject({ erasedAt: SOME_TIME });
      const until = record.expiresAt + 40 * 24 * 60 * 60 * 1000;
      await records.keepBody(record, stored, until);
      const found = await records.find(record.key);
      expect(found).toMatchObject({ erasedAt: SOME_TIME });
      expect(found?.expiresAt).toBeGreaterThanOrEqual(until);
    });

    it('return whether a body was kept', async () => {
      const record = aRecord();
      const keep = (body: BodyLocation) => records.keepBody(record, body, SOME_TIME);
      expect(await keep(stored)).toBe('forgotten');
      expect(await records.eraseBody(record.key, SOME_TIME)).toBeUndefined();
      await records.accept(record);
      expect([await keep(stored), await keep(inline(record.key))]).toEqual(['kept', 'kept']);
      expect(await records.find(record.key)).toMatchObject({ body: stored });
    });
  });
};

/** Contract of message records when dispatch continues with the next part of the subscriptions. */
const describeParts = (name: string, make: () => MessageRecords): void => {
  describe(`adding the next part of the subscriptions to a message record ${name}`, () => {
    const records = make();
    const accepted = acceptedBy(records);
    const part = { after: 's-5', listedAt: SOME_TIME + 3, firstBucket: 1, buckets: 2, chunks: 7 };
    const next: NextPart = { part, lastSubscriptionId: 's-9', matched: 4, filtered: 1, unchunked: ['s-7'] };
    const last: NextPart = {
      part: { after: 's-9', listedAt: SOME_TIME + 4, firstBucket: 3, buckets: 1 },
      lastSubscriptionId: undefined,
      matched: 1,
      filtered: 0,
      unchunked: [],
    };

    it('appends each part and sums up the counts', async () => {
      const record = await accepted({ lastSubscriptionId: 's-5', unchunked: ['s-2'] });
      const added = { matched: 7, filtered: 3, parts: [part], unchunked: ['s-2', 's-7'] };
      const second = { ...record, ...added, lastSubscriptionId: 's-9' };
      expect(await records.addPart(record, next)).toEqual({ kind: 'added', record: second });
      expect(await records.find(record.key)).toEqual(second);
      const { lastSubscriptionId: _last, ...rest } = second;
      const third = { ...rest, matched: 8, parts: [part, last.part] };
      expect(await records.addPart(second, last)).toEqual({ kind: 'added', record: third });
      expect(await records.find(record.key)).toEqual(third);
    });

    it('adds the first separate subscription', async () => {
      const record = await accepted();
      expect(await records.addPart(record, next)).toMatchObject({ record: { unchunked: ['s-7'] } });
    });

    it('succeeds for one of twenty concurrent callers, and returns the record to the others', async () => {
      const record = await accepted({ lastSubscriptionId: 's-5' });
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, matched) => records.addPart(record, { ...next, matched })),
      );
      const [added, ...more] = results.filter(({ kind }) => kind === 'added');
      expect(more).toEqual([]);
      const stands = added?.kind === 'added' ? added.record : undefined;
      expect(stands?.parts).toEqual([part]);
      const refused = results.filter(({ kind }) => kind === 'refused');
      expect(refused).toEqual(refused.map(() => ({ kind: 'refused', current: stands })));
      expect(await records.addPart(record, last)).toEqual({ kind: 'refused', current: stands });
    });

    it('is refused for another message of the same id, and for a missing one', async () => {
      const record = aRecord({ lastSubscriptionId: 's-5' });
      expect(await records.addPart(record, next)).toEqual({ kind: 'refused', current: undefined });
      await records.accept(record);
      const other = { ...record, acceptedAt: record.acceptedAt - 1 };
      expect(await records.addPart(other, next)).toEqual({ kind: 'refused', current: undefined });
      expect(await records.find(record.key)).toEqual(record);
    });
  });
};

/**
 * Contract of message records for a queue that is deleted and created again: a message belongs to one of these
 * lives.
 */
const describeLives = (name: string, make: () => MessageRecords): void => {
  describe(`message records of a queue that was deleted and created again ${name}`, () => {
    const records = make();
    const accepted = acceptedBy(records);
    const LIFE = SOME_TIME + 1_000;
    const anew = (key: MessageKey, overrides: Partial<MessageRecord> = {}): MessageRecord =>
      aRecord({ key, acceptedAt: LIFE + 5, queueCreatedAt: LIFE, matched: 9, ...overrides });

    it.each([
      ['that names its life', { queueCreatedAt: SOME_TIME - 1_000 }],
      ['without a life', {}],
    ])('replace a record %s by that of a new message, with separate buckets', async (_case, life) => {
      const earlier = await accepted({ buckets: 3, body: stored, ...life });
      const second = anew(earlier.key, { buckets: 2 });
      const expected = { ...second, firstBucket: 3 };
      expect(await records.accept(second, LIFE)).toEqual({ kind: 'accepted', record: expected });
      expect(await records.find(earlier.key)).toEqual(expected);

      const third = anew(earlier.key, { acceptedAt: LIFE + 2_005, queueCreatedAt: LIFE + 2_000 });
      expect(await records.accept(third)).toMatchObject({ kind: 'accepted', record: { firstBucket: 5 } });
    });

    it('give a new message buckets after those of all parts of the earlier one', async () => {
      const parts = [{ after: 's-5', listedAt: SOME_TIME, firstBucket: 3, buckets: 4 }];
      const life = { lastSubscriptionId: 's-9', queueCreatedAt: SOME_TIME - 1_000 };
      const earlier = await accepted({ buckets: 3, parts, ...life });
      const second = anew(earlier.key);
      const record = { ...second, firstBucket: 7 };
      expect(await records.accept(second, LIFE)).toEqual({ kind: 'accepted', record });
      expect(await records.find(earlier.key)).toEqual(record);
    });

    it.each([
      ['of the same life', {}, {}],
      ['that a function with a slow clock accepted', { acceptedAt: LIFE - 5 }, {}],
      ['from a function that still has the earlier queue cached', {}, { queueCreatedAt: SOME_TIME - 1_000 }],
    ])('count a copy of a message %s', async (_what, first, copy) => {
      const key = aKey();
      await records.accept(anew(key, first), LIFE);
      const result = await records.accept(anew(key, { matched: 3, ...copy }), LIFE + 1);
      expect(result).toMatchObject({ kind: 'duplicate', record: { matched: 9 } });
    });

    it('count a late copy that was sent in the earlier life', async () => {
      const earlier = await accepted();
      expect(await records.accept(anew(earlier.key), LIFE - 2_001)).toEqual({
        kind: 'duplicate',
        record: { ...earlier, duplicates: 1 },
      });
    });

    it('accept a message that was sent just before the new life by a slow clock', async () => {
      const earlier = await accepted();
      expect(await records.accept(anew(earlier.key), LIFE - 2_000)).toMatchObject({ kind: 'accepted' });
    });

    it('accept one of twenty concurrent new messages', async () => {
      const earlier = await accepted();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, matched) => records.accept(anew(earlier.key, { matched }), LIFE)),
      );
      expect(answers.filter(({ kind }) => kind === 'accepted')).toHaveLength(1);
      expect(await records.find(earlier.key)).toMatchObject({ duplicates: 19, firstBucket: 1 });
    });

    it('store no body for a message of the earlier life', async () => {
      const earlier = await accepted();
      await records.accept(anew(earlier.key), LIFE);
      expect(await records.keepBody(earlier, stored, LIFE)).toBe('forgotten');
      expect(await records.find(earlier.key)).not.toHaveProperty('body');
    });
  });
};

/** Contract of message record stores. */
export const describeMessageRecordsContract = (name: string, make: () => MessageRecords): void => {
  describeRecords(name, make);
  describeParts(name, make);
  describeLives(name, make);
};
