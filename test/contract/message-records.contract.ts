import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { BodyLocation } from '../../shared/domain/message/body.ts';
import type { MessageKey } from '../../shared/domain/message/message.ts';
import type { MessageRecord, MessageRecords } from '../../shared/ports/messages.ts';
import { aMessage } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';

export const aKey = (): MessageKey => ({ queue: 'orders.eu_1', messageId: randomUUID() });

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
const stored: BodyLocation = { kind: 'stored', payloadKey: 'orders/2027-01-15/abc' };

/** What every keeper of message records does: the first record stays, copies are counted, the first body is kept. */
export const describeMessageRecordsContract = (name: string, make: () => MessageRecords): void => {
  describe(`message records ${name}`, () => {
    it('finds nothing of a message that never came', async () => {
      expect(await make().find(aKey())).toBeUndefined();
    });

    it('accepts a message and finds its record', async () => {
      const records = make();
      const record = aRecord();
      expect(await records.accept(record)).toEqual({ kind: 'accepted', record });
      expect(await records.find(record.key)).toEqual(record);
    });

    it('keeps a record without a type or version, and one with its body', async () => {
      const records = make();
      const key = aKey();
      const { type: _type, accepted: _accepted, ...untyped } = aRecord({ key, body: inline(key) });
      await records.accept(untyped);
      expect(await records.find(key)).toEqual(untyped);
    });

    it('counts a copy and answers with the record as it was first written', async () => {
      const records = make();
      const record = aRecord();
      await records.accept(record);
      const copy = aRecord({
        key: record.key,
        acceptedAt: SOME_TIME + 9,
        matched: 9,
        buckets: 9,
        expiresAt: SOME_TIME * 2,
      });
      expect(await records.accept(copy)).toEqual({ kind: 'duplicate', record: { ...record, duplicates: 1 } });
      expect(await records.accept(copy)).toEqual({ kind: 'duplicate', record: { ...record, duplicates: 2 } });
      expect(await records.find(record.key)).toEqual({ ...record, duplicates: 2 });
    });

    it('accepts one of fifty copies that come at once, and counts the others', async () => {
      const records = make();
      const key = aKey();
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, matched) => records.accept(aRecord({ key, matched }))),
      );
      const accepted = answers.filter(({ kind }) => kind === 'accepted');
      expect(accepted).toHaveLength(1);
      expect(new Set(answers.map(({ record }) => record.matched))).toEqual(
        new Set([accepted[0]?.record.matched]),
      );
      expect(answers.map(({ record }) => record.duplicates).sort((one, other) => one - other)).toEqual(
        Array.from({ length: 50 }, (_, index) => index),
      );
    });

    it('keeps messages of the same id apart by queue', async () => {
      const records = make();
      const record = aRecord();
      await records.accept(record);
      const elsewhere = { ...record, key: { ...record.key, queue: 'other' } };
      expect(await records.accept(elsewhere)).toEqual({ kind: 'accepted', record: elsewhere });
    });

    it.each([
      ['on its record', inline],
      ['in the bucket', () => stored],
    ])('keeps a body %s', async (_, bodyFor) => {
      const records = make();
      const record = aRecord();
      await records.accept(record);
      await records.keepBody(record, bodyFor(record.key), record.expiresAt);
      expect((await records.find(record.key))?.body).toEqual(bodyFor(record.key));
    });

    it('keeps the first body, and lets the record live as long as anybody asked', async () => {
      const records = make();
      const record = aRecord();
      await records.accept(record);
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

    it('keeps a body on a record that lives longer than the body has to', async () => {
      const records = make();
      const record = aRecord({ expiresAt: SOME_TIME * 2 });
      await records.accept(record);
      await records.keepBody(record, stored, SOME_TIME);
      expect(await records.find(record.key)).toEqual({ ...record, body: stored });
    });

    it('keeps one of fifty bodies that come at once', async () => {
      const records = make();
      const record = aRecord();
      await records.accept(record);
      await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          records.keepBody(record, inline(record.key, String(index)), SOME_TIME + index),
        ),
      );
      const found = await records.find(record.key);
      expect(found?.body?.kind).toBe('inline');
      await records.keepBody(record, stored, SOME_TIME);
      expect((await records.find(record.key))?.body).toEqual(found?.body);
    });

    it('keeps no body of a message that has no record', async () => {
      const records = make();
      const key = aKey();
      await records.keepBody({ key, acceptedAt: SOME_TIME }, stored, SOME_TIME);
      expect(await records.find(key)).toBeUndefined();
    });

    it('still counts copies once a body is kept', async () => {
      const records = make();
      const record = aRecord();
      await records.accept(record);
      await records.keepBody(record, stored, SOME_TIME);
      expect(await records.accept(record)).toMatchObject({
        kind: 'duplicate',
        record: { duplicates: 1, body: stored },
      });
    });

    it('erases a body for good: none is kept in its place, by nobody', async () => {
      const records = make();
      const key = aKey();
      const bare = aRecord({ key });
      const record = { ...bare, body: inline(key) };
      const erased = { ...bare, erasedAt: SOME_TIME + 7 };
      await records.accept(record);
      expect(await records.eraseBody(key, SOME_TIME + 7)).toEqual(erased);
      expect(await records.find(key)).toEqual(erased);
      expect(await records.keepBody({ key, acceptedAt: SOME_TIME }, stored, SOME_TIME)).toBe('erased');
      const again = await records.accept(record);
      expect(again).toMatchObject({ kind: 'duplicate', record: { duplicates: 1, erasedAt: SOME_TIME + 7 } });
      expect(again.record).not.toHaveProperty('body');
      expect(await records.find(key)).toEqual(again.record);
    });

    it('erases where nothing is kept, so that nothing will be', async () => {
      const records = make();
      const key = aKey();
      await records.accept(aRecord({ key }));
      await records.eraseBody(key, SOME_TIME);
      expect(await records.keepBody({ key, acceptedAt: SOME_TIME }, inline(key), SOME_TIME)).toBe('erased');
      expect(await records.find(key)).toMatchObject({ erasedAt: SOME_TIME });
      expect(await records.find(key)).not.toHaveProperty('body');
    });

    it('remembers when a body was first erased, as long as its retries may ask', async () => {
      const records = make();
      const record = aRecord({ body: stored });
      await records.accept(record);
      await records.eraseBody(record.key, SOME_TIME);
      expect(await records.eraseBody(record.key, SOME_TIME + 9)).toMatchObject({ erasedAt: SOME_TIME });
      const until = record.expiresAt + 40 * 24 * 60 * 60 * 1000;
      await records.keepBody(record, stored, until);
      const found = await records.find(record.key);
      expect(found).toMatchObject({ erasedAt: SOME_TIME });
      expect(found?.expiresAt).toBeGreaterThanOrEqual(until);
    });

    it('says whether a body was kept', async () => {
      const records = make();
      const { key } = aRecord();
      expect(await records.keepBody({ key, acceptedAt: SOME_TIME }, stored, SOME_TIME)).toBe('forgotten');
      expect(await records.eraseBody(key, SOME_TIME)).toBeUndefined();
      await records.accept(aRecord({ key }));
      expect(await records.keepBody({ key, acceptedAt: SOME_TIME }, stored, SOME_TIME)).toBe('kept');
      expect(await records.keepBody({ key, acceptedAt: SOME_TIME }, inline(key), SOME_TIME)).toBe('kept');
      expect(await records.find(key)).toMatchObject({ body: stored });
    });
  });
};
