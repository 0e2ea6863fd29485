import { describe, expect, it } from 'vitest';
import type { MessageKey } from '../../shared/domain/message/message.ts';
import type { MessageRecord, MessageRecords } from '../../shared/ports/messages.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { aKey, aRecord } from './message-records.contract.ts';

const stored = { kind: 'stored', payloadKey: 'orders/2027-01-15/abc' } as const;

/** What every keeper of message records does about the lives of a queue: a message belongs to one of them. */
export const describeMessageLivesContract = (name: string, make: () => MessageRecords): void => {
  describe(`message records of a queue that was deleted and made again ${name}`, () => {
    const LIFE = SOME_TIME + 1_000;
    const anew = (key: MessageKey, overrides: Partial<MessageRecord> = {}): MessageRecord =>
      aRecord({ key, acceptedAt: LIFE + 5, life: LIFE, matched: 9, ...overrides });

    it.each([
      ['that says which life it is of', { life: SOME_TIME - 1_000 }],
      ['that does not say so', {}],
    ])('puts a new message in the place of a record %s, under buckets of its own', async (_case, life) => {
      const records = make();
      const earlier = aRecord({ buckets: 3, body: stored, ...life });
      await records.accept(earlier);
      const second = anew(earlier.key, { buckets: 2 });
      const expected = { ...second, firstBucket: 3 };
      expect(await records.accept(second, LIFE)).toEqual({ kind: 'accepted', record: expected });
      expect(await records.find(earlier.key)).toEqual(expected);

      const third = anew(earlier.key, { acceptedAt: LIFE + 2_005, life: LIFE + 2_000 });
      expect(await records.accept(third)).toMatchObject({ kind: 'accepted', record: { firstBucket: 5 } });
    });

    it('puts it under buckets behind those of all parts of the earlier one', async () => {
      const records = make();
      const parts = [{ after: 's-5', listedAt: SOME_TIME, firstBucket: 3, buckets: 4 }];
      const earlier = aRecord({ buckets: 3, parts, until: 's-9', life: SOME_TIME - 1_000 });
      await records.accept(earlier);
      const second = anew(earlier.key);
      const record = { ...second, firstBucket: 7 };
      expect(await records.accept(second, LIFE)).toEqual({ kind: 'accepted', record });
      expect(await records.find(earlier.key)).toEqual(record);
    });

    it('counts a copy of a message of the same life', async () => {
      const records = make();
      const key = aKey();
      await records.accept(anew(key), LIFE);
      expect(await records.accept(anew(key), LIFE)).toMatchObject({ kind: 'duplicate' });
    });

    it('counts a copy of one that a function accepted whose clock runs behind', async () => {
      const records = make();
      const early = anew(aKey(), { acceptedAt: LIFE - 5 });
      await records.accept(early, LIFE);
      expect(await records.accept(anew(early.key), LIFE)).toMatchObject({ kind: 'duplicate' });
    });

    it('counts a copy that was sent in the earlier life and comes late', async () => {
      const records = make();
      const earlier = aRecord();
      await records.accept(earlier);
      expect(await records.accept(anew(earlier.key), LIFE - 2_001)).toEqual({
        kind: 'duplicate',
        record: { ...earlier, duplicates: 1 },
      });
    });

    it('takes for a new one what was sent just before the life by a clock that is behind', async () => {
      const records = make();
      const earlier = aRecord();
      await records.accept(earlier);
      expect(await records.accept(anew(earlier.key), LIFE - 2_000)).toMatchObject({ kind: 'accepted' });
    });

    it('counts a copy of a function that still knows the queue of the earlier life', async () => {
      const records = make();
      const key = aKey();
      await records.accept(anew(key), LIFE);
      const late = aRecord({ key, life: SOME_TIME - 1_000 });
      expect(await records.accept(late, LIFE + 1)).toMatchObject({
        kind: 'duplicate',
        record: { matched: 9 },
      });
    });

    it('accepts one of twenty new messages that come at once', async () => {
      const records = make();
      const earlier = aRecord();
      await records.accept(earlier);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, matched) => records.accept(anew(earlier.key, { matched }), LIFE)),
      );
      expect(answers.filter(({ kind }) => kind === 'accepted')).toHaveLength(1);
      expect(await records.find(earlier.key)).toMatchObject({ duplicates: 19, firstBucket: 1 });
    });

    it('keeps no body of a message of the earlier life', async () => {
      const records = make();
      const earlier = aRecord();
      await records.accept(earlier);
      await records.accept(anew(earlier.key), LIFE);
      expect(await records.keepBody(earlier, stored, LIFE)).toBe('forgotten');
      expect(await records.find(earlier.key)).not.toHaveProperty('body');
    });
  });
};
