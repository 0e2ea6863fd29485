import { describe, expect, it } from 'vitest';
import type { MessageKey } from '../../shared/domain/message/message.ts';
import type { MessageRecord, MessageRecords } from '../../shared/ports/messages.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { aKey, aRecord } from './message-records.contract.ts';

const stored = { kind: 'stored', payloadKey: 'orders/2027-01-15/abc' } as const;

/**
 * Contract of message records for a queue that is deleted and created again: a message belongs to one of these
 * lives.
 */
export const describeMessageLivesContract = (name: string, make: () => MessageRecords): void => {
  describe(`message records of a queue that was deleted and created again ${name}`, () => {
    const LIFE = SOME_TIME + 1_000;
    const anew = (key: MessageKey, overrides: Partial<MessageRecord> = {}): MessageRecord =>
      aRecord({ key, acceptedAt: LIFE + 5, queueCreatedAt: LIFE, matched: 9, ...overrides });

    it.each([
      ['that names its life', { queueCreatedAt: SOME_TIME - 1_000 }],
      ['without a life', {}],
    ])('replace a record %s by that of a new message, with separate buckets', async (_case, life) => {
      const records = make();
      const earlier = aRecord({ buckets: 3, body: stored, ...life });
      await records.accept(earlier);
      const second = anew(earlier.key, { buckets: 2 });
      const expected = { ...second, firstBucket: 3 };
      expect(await records.accept(second, LIFE)).toEqual({ kind: 'accepted', record: expected });
      expect(await records.find(earlier.key)).toEqual(expected);

      const third = anew(earlier.key, { acceptedAt: LIFE + 2_005, queueCreatedAt: LIFE + 2_000 });
      expect(await records.accept(third)).toMatchObject({ kind: 'accepted', record: { firstBucket: 5 } });
    });

    it('give a new message buckets after those of all parts of the earlier one', async () => {
      const records = make();
      const parts = [{ after: 's-5', listedAt: SOME_TIME, firstBucket: 3, buckets: 4 }];
      const earlier = aRecord({
        buckets: 3,
        parts,
        lastSubscriptionId: 's-9',
        queueCreatedAt: SOME_TIME - 1_000,
      });
      await records.accept(earlier);
      const second = anew(earlier.key);
      const record = { ...second, firstBucket: 7 };
      expect(await records.accept(second, LIFE)).toEqual({ kind: 'accepted', record });
      expect(await records.find(earlier.key)).toEqual(record);
    });

    it('count a copy of a message of the same life', async () => {
      const records = make();
      const key = aKey();
      await records.accept(anew(key), LIFE);
      expect(await records.accept(anew(key), LIFE)).toMatchObject({ kind: 'duplicate' });
    });

    it('count a copy of a message that a function with a slow clock accepted', async () => {
      const records = make();
      const early = anew(aKey(), { acceptedAt: LIFE - 5 });
      await records.accept(early, LIFE);
      expect(await records.accept(anew(early.key), LIFE)).toMatchObject({ kind: 'duplicate' });
    });

    it('count a late copy that was sent in the earlier life', async () => {
      const records = make();
      const earlier = aRecord();
      await records.accept(earlier);
      expect(await records.accept(anew(earlier.key), LIFE - 2_001)).toEqual({
        kind: 'duplicate',
        record: { ...earlier, duplicates: 1 },
      });
    });

    it('accept a message that was sent just before the new life by a slow clock', async () => {
      const records = make();
      const earlier = aRecord();
      await records.accept(earlier);
      expect(await records.accept(anew(earlier.key), LIFE - 2_000)).toMatchObject({ kind: 'accepted' });
    });

    it('count a copy from a function that still has the earlier queue cached', async () => {
      const records = make();
      const key = aKey();
      await records.accept(anew(key), LIFE);
      const late = aRecord({ key, queueCreatedAt: SOME_TIME - 1_000 });
      expect(await records.accept(late, LIFE + 1)).toMatchObject({
        kind: 'duplicate',
        record: { matched: 9 },
      });
    });

    it('accept one of twenty concurrent new messages', async () => {
      const records = make();
      const earlier = aRecord();
      await records.accept(earlier);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, matched) => records.accept(anew(earlier.key, { matched }), LIFE)),
      );
      expect(answers.filter(({ kind }) => kind === 'accepted')).toHaveLength(1);
      expect(await records.find(earlier.key)).toMatchObject({ duplicates: 19, firstBucket: 1 });
    });

    it('store no body for a message of the earlier life', async () => {
      const records = make();
      const earlier = aRecord();
      await records.accept(earlier);
      await records.accept(anew(earlier.key), LIFE);
      expect(await records.keepBody(earlier, stored, LIFE)).toBe('forgotten');
      expect(await records.find(earlier.key)).not.toHaveProperty('body');
    });
  });
};
