import { expect } from 'vitest';
import * as z from 'zod';
import type { Delivery, DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import type { MessageRecord } from '../../../shared/ports/messages.ts';
import { aDelivery, aDeliveryKey, type DeliveryFields } from '../../support/delivery-builders.ts';
import { apiUnderTest, NOON } from './api-under-test.ts';

type Stores = Pick<ReturnType<typeof apiUnderTest>, 'messageRecords' | 'deliveries'>;

/** The API with a queue `orders`. */
export const apiWithOrders = async (
  ...overrides: Parameters<typeof apiUnderTest>
): Promise<ReturnType<typeof apiUnderTest>> => {
  const api = apiUnderTest(...overrides);
  await api.dependencies.registry.ensureQueue({ name: 'orders', metadata: {}, createdAt: 0 });
  return api;
};

/** A page of a list, with nothing else in it. */
export const pageOf = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject({ ...shape, links: z.array(z.strictObject({ rel: z.literal('next'), href: z.string() })) });

/** Reads pages of a list. */
export const listing =
  <Schema extends z.ZodType>({ call }: Pick<ReturnType<typeof apiUnderTest>, 'call'>, page: Schema) =>
  async (path: string): Promise<z.output<Schema>> => {
    const { status, body } = await call('GET', path);
    expect(status, path).toBe(200);
    return page.parse(body);
  };

/** Writes records of deliveries in the queue `orders`, by default accepted at noon. */
export const recordAll = async (
  { deliveries }: Pick<Stores, 'deliveries'>,
  all: readonly (Omit<DeliveryFields, 'key'> &
    Partial<Pick<DeliveryKey, 'messageId' | 'subscriptionId' | 'bucket'>>)[],
): Promise<Delivery[]> => {
  const created = all.map(({ messageId, subscriptionId, bucket, ...more }) =>
    aDelivery({
      key: aDeliveryKey({
        queue: 'orders',
        ...(messageId === undefined ? {} : { messageId }),
        ...(subscriptionId === undefined ? {} : { subscriptionId }),
        ...(bucket === undefined ? {} : { bucket }),
      }),
      acceptedAt: NOON,
      status: 'retrying',
      ...more,
    }),
  );
  for (const create of created)
    await deliveries.write({ name: 'open', key: create.key, expect: { kind: 'absent' }, create });
  return created;
};

/** Writes the record of a message in the queue `orders`. */
export const recordMessage = async (
  { messageRecords }: Pick<Stores, 'messageRecords'>,
  { messageId, ...more }: Partial<Omit<MessageRecord, 'key'>> & { messageId: string },
): Promise<void> => {
  await messageRecords.accept({
    key: { queue: 'orders', messageId },
    acceptedAt: NOON,
    listedAt: NOON,
    matched: 1,
    filtered: 0,
    duplicates: 0,
    buckets: 1,
    expiresAt: NOON + 1,
    ...more,
  });
};
