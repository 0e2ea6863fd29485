import { describe, expect, it } from 'vitest';
import type { MessageRecords, NextPart } from '../../shared/ports/messages.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { aRecord } from './message-records.contract.ts';

/** Contract of message records when dispatch continues with the next part of the subscriptions. */
export const describeMessagePartsContract = (name: string, make: () => MessageRecords): void => {
  describe(`adding the next part of the subscriptions to a message record ${name}`, () => {
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
      const records = make();
      const record = aRecord({ lastSubscriptionId: 's-5', unchunked: ['s-2'] });
      await records.accept(record);
      const second = {
        ...record,
        matched: 7,
        filtered: 3,
        parts: [part],
        unchunked: ['s-2', 's-7'],
        lastSubscriptionId: 's-9',
      };
      expect(await records.addPart(record, next)).toEqual({ kind: 'added', record: second });
      expect(await records.find(record.key)).toEqual(second);
      const { lastSubscriptionId: _last, ...rest } = second;
      const third = { ...rest, matched: 8, parts: [part, last.part] };
      expect(await records.addPart(second, last)).toEqual({ kind: 'added', record: third });
      expect(await records.find(record.key)).toEqual(third);
    });

    it('adds the first separate subscription', async () => {
      const records = make();
      const record = aRecord();
      await records.accept(record);
      expect(await records.addPart(record, next)).toMatchObject({ record: { unchunked: ['s-7'] } });
    });

    it('succeeds for one of fifty concurrent callers, and returns the record to the others', async () => {
      const records = make();
      const record = aRecord({ lastSubscriptionId: 's-5' });
      await records.accept(record);
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, matched) => records.addPart(record, { ...next, matched })),
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
      const records = make();
      const record = aRecord({ lastSubscriptionId: 's-5' });
      expect(await records.addPart(record, next)).toEqual({ kind: 'refused', current: undefined });
      await records.accept(record);
      const other = { ...record, acceptedAt: record.acceptedAt - 1 };
      expect(await records.addPart(other, next)).toEqual({ kind: 'refused', current: undefined });
      expect(await records.find(record.key)).toEqual(record);
    });
  });
};
