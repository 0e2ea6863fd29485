import type { DocumentClient } from './aws/document-client.ts';
import type { Delivery, DeliveryKey } from '../domain/delivery.ts';
import type { DeliveryRecords } from '../ports/delivery-listings.ts';
import { deliveryItemKeySchema, deliveryOf } from './delivery-item.ts';
import { itemKeyOf } from './delivery-keys.ts';
import { hasTimeAfter, type Pacing } from './invocation-deadline.ts';
import { decoded, UnreadableRecordError } from './record.ts';

/** What reading again takes of time and chance: `random` is uniform in [0, 1). */
export type BatchReading = Pacing & { random: () => number };

/** DynamoDB left some of a batch unread however often it was asked: it is throttled. Transient. */
export class RecordsNotReadError extends Error {
  override readonly name = 'RecordsNotReadError';
  readonly unread: number;

  constructor(unread: number, of: number) {
    super(`DynamoDB left ${unread} of ${of} records unread.`);
    this.unread = unread;
  }
}

/** How often records are asked for before they are given up, and the upper bound of the first wait, which doubles. */
const MAX_ROUNDS = 5;
const FIRST_WAIT_MS = 50;

/** Up to 100 records; strongly consistent. What DynamoDB leaves unread is asked for again, if there is time. @throws RecordsNotReadError */
export const recordsOf = async (
  client: DocumentClient,
  tableName: string,
  keys: readonly DeliveryKey[],
  { sleep, random, deadline }: BatchReading,
): Promise<DeliveryRecords> => {
  const found: Read[] = [];
  let unread: Requested = keys.map(itemKeyOf);
  for (let round = 1; unread.length > 0; round += 1) {
    if (round > 1) {
      const waitMs = random() * FIRST_WAIT_MS * 2 ** (round - 2);
      if (round > MAX_ROUNDS || !hasTimeAfter(waitMs, deadline))
        throw new RecordsNotReadError(unread.length, keys.length);
      await sleep(waitMs);
    }
    const answer = await readOnce(client, tableName, unread);
    found.push(...answer.found);
    unread = answer.unread;
  }
  return {
    deliveries: found.flatMap((read) => ('delivery' in read ? [read.delivery] : [])),
    unreadable: found.filter((read) => 'error' in read),
  };
};

type Read = { delivery: Delivery } | { key: DeliveryKey; error: UnreadableRecordError };

/** One record that nobody can read must not keep the others back. */
const readOf = (item: unknown): Read => {
  try {
    return { delivery: deliveryOf(item) };
  } catch (error) {
    if (!(error instanceof UnreadableRecordError)) throw error;
    return { key: decoded(deliveryItemKeySchema, item), error };
  }
};

type Requested = readonly Record<string, unknown>[];

const readOnce = async (
  client: DocumentClient,
  tableName: string,
  keys: Requested,
): Promise<{ found: Read[]; unread: Requested }> => {
  const { Responses, UnprocessedKeys } = await client.batchGet({
    RequestItems: { [tableName]: { Keys: [...keys], ConsistentRead: true } },
  });
  return {
    found: (Responses[tableName] ?? []).map(readOf),
    unread: UnprocessedKeys[tableName]?.Keys ?? [],
  };
};
