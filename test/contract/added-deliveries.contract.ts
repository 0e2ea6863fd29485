import { describe, expect, it } from 'vitest';
import { claimChunk, removeMemberBeforeClaim } from '../../shared/domain/delivery/chunk.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import { deliveryByHand } from '../../shared/domain/delivery/interventions.ts';
import type { Chunks, Deliveries } from '../../shared/ports/deliveries.ts';
import type { MessageRecord, MessageRecords } from '../../shared/ports/messages.ts';
import { aChunkKey, HOLDER, RETENTION_MS } from '../support/chunk-builders.ts';
import { aDelivery, SOME_TIME } from '../support/delivery-builders.ts';
import { aRecord } from './message-records.contract.ts';

type Stores = { chunks: Chunks; deliveries: Deliveries; messageRecords: MessageRecords };

const at = { now: SOME_TIME, retentionMs: RETENTION_MS };

/** Contract of adding a delivery to an accepted message: its record, its count and its chunk change together. */
export const describeAddedDeliveriesContract = (name: string, make: () => Stores): void => {
  describe(`adding a delivery ${name}`, () => {
    const accepted = async (more: Partial<MessageRecord> = {}) => {
      const stores = make();
      const place = aChunkKey();
      const { queue, messageId, bucket } = place;
      const key = { queue, messageId };
      const record = aRecord({ key, ...more });
      await stores.messageRecords.accept(record);
      const delivery = deliveryByHand(
        { key: { ...key, bucket, subscriptionId: 's' }, acceptedAt: record.acceptedAt },
        at,
      );
      const matched = async () => (await stores.messageRecords.find(key))?.matched;
      return { ...stores, place, record, delivery, matched };
    };
    type Accepted = Awaited<ReturnType<typeof accepted>>;

    const expectUnchanged = async ({ matched, record, deliveries, delivery }: Accepted, there?: Delivery) => {
      expect(await matched()).toBe(record.matched);
      expect(await deliveries.find(delivery.key)).toEqual(there);
    };

    it('creates its record, and counts it on the record of its message, which stays otherwise', async () => {
      const { chunks, deliveries, messageRecords, record, delivery } = await accepted();
      expect(await chunks.add(delivery, undefined)).toBe('added');
      expect(await deliveries.find(delivery.key)).toEqual(delivery);
      expect(await messageRecords.find(record.key)).toEqual({ ...record, matched: record.matched + 1 });
      expect(await deliveries.overdue(SOME_TIME, 1_000)).toContainEqual({
        key: delivery.key,
        overdueAt: SOME_TIME,
      });
    });

    it('marks it in its chunk, which is not claimed', async () => {
      const { chunks, place, delivery, matched, record } = await accepted();
      expect(await chunks.add(delivery, removeMemberBeforeClaim(place, 's', delivery))).toBe('added');
      expect((await chunks.find(place))?.excluded).toEqual(new Set(['s']));
      expect(await matched()).toBe(record.matched + 1);
    });

    it('changes nothing if the delivery exists', async () => {
      const all = await accepted();
      const { chunks, deliveries, delivery } = all;
      const create = aDelivery({ key: delivery.key, status: 'delivered' });
      await deliveries.write({ name: 'record', key: create.key, expect: { kind: 'absent' }, create });
      expect(await chunks.add(delivery, undefined)).toBe('refused');
      await expectUnchanged(all, create);
    });

    it('changes nothing if the chunk was claimed in the meantime', async () => {
      const all = await accepted();
      const { chunks, place, delivery } = all;
      await chunks.write(claimChunk(place, { acceptedAt: SOME_TIME, members: ['s'], lease: HOLDER }, at));
      expect(await chunks.add(delivery, removeMemberBeforeClaim(place, 's', delivery))).toBe('refused');
      await expectUnchanged(all);
      expect((await chunks.find(place))?.excluded).toEqual(new Set());
    });

    it.each<[string, Partial<MessageRecord>]>([
      ['the message is not sent to all subscriptions yet', { lastSubscriptionId: 's-5' }],
      ['the id belongs to another message now', { acceptedAt: SOME_TIME + 1 }],
    ])('changes nothing if %s', async (_what, more) => {
      const all = await accepted(more);
      const delivery = { ...all.delivery, acceptedAt: SOME_TIME };
      expect(await all.chunks.add(delivery, undefined)).toBe('refused');
      await expectUnchanged(all);
    });

    it('succeeds for one of twenty concurrent callers', async () => {
      const { chunks, delivery, matched, record } = await accepted();
      const once = await Promise.all(Array.from({ length: 20 }, () => chunks.add(delivery, undefined)));
      expect(once.filter((result) => result === 'added')).toHaveLength(1);
      expect(await matched()).toBe(record.matched + 1);
    });
  });
};
