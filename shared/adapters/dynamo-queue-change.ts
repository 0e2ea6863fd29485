import type { Queue } from '../domain/subscription.ts';
import { ContendedChangeError } from '../ports/subscription-registry.ts';
import type { Changed } from '../ports/subscription-registry.ts';
import { ifUndisturbed } from './dynamo-condition.ts';
import { editsOf, updateOf } from './item-edit.ts';
import type { RegistryTable } from './registry-table.ts';
import { itemOf, queueAttributesOf, queueItemKey, queueOf } from './subscription-item.ts';

/** How often others may come in between before a change is given up. */
const MOST_TRIES = 8;
const FIRST_PAUSE_MS = 5;

export const changeQueue = async (
  { client, tableName, clock }: RegistryTable,
  name: string,
  change: (current: Queue) => Queue,
): Promise<Changed<Queue>> => {
  const at = { TableName: tableName, Key: queueItemKey(name) };
  for (let tried = 1; tried <= MOST_TRIES; tried += 1) {
    const { Item } = await client.get({ ...at, ConsistentRead: true });
    if (Item === undefined) return { kind: 'missing' };
    const item = itemOf(Item);
    const before = queueOf(Item);
    const after = change(before);
    const edits = editsOf(item, queueAttributesOf(before), queueAttributesOf(after));
    if (edits.length === 0) return { kind: 'left', current: before };
    // All of the metadata as read, and of this life of the queue: a patch says what it says of the whole.
    const guards = { createdAt: item['createdAt'], metadata: item['metadata'] };
    const write = client.update({ ...at, ...updateOf(edits, guards) });
    if ((await ifUndisturbed(write)) !== undefined) return { kind: 'changed', before, after };
    await clock.sleep(Math.random() * FIRST_PAUSE_MS * 2 ** tried);
  }
  throw new ContendedChangeError(name);
};
