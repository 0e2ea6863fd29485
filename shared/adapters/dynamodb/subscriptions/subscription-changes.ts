import {
  planDeletion,
  type Subscription,
  type SubscriptionKey,
} from '../../../domain/subscription/subscription.ts';
import type {
  RegistrySubscriptions,
  SubscriberConflict,
  SubscriptionAt,
} from '../../../ports/subscriptions.ts';
import { putArchive, subscriptionArchiveKey } from './archives.ts';
import {
  buildUpdate,
  changeStored,
  findEdits,
  ifConditionHolds,
  type ItemEdit,
  type PlannedChange,
  type RefusedWrite,
  type RegistryTable,
  retryChange,
  type Stored,
  type TableWrite,
  transactWrite,
} from '../writes.ts';
import { readItem } from '../queries.ts';
import { deleteClaim, putClaim, releaseSubscriber } from './subscription-writes.ts';
import {
  isDeletedQueue,
  queueItemKey,
  subscriberItemKey,
  subscriptionItemKey,
  toHolder,
  toSubscription,
  toSubscriptionItem,
} from './subscription-item.ts';

/** The subscriptions of the registry that exist. */
export function dynamoSubscriptionChanges(
  table: RegistryTable,
): Pick<RegistrySubscriptions, 'findSubscription' | 'changeSubscription' | 'markDeleted' | 'removeMarked'> {
  return {
    findSubscription: async (queue, subscriptionId) =>
      (await findStored(table, { queue, subscriptionId }))?.current,
    changeSubscription: (target, change) =>
      changeStored(table, describeTarget(target), {
        find: async () => {
          const found = await findStored(table, target);
          return found === undefined || isMarked(found) ? undefined : found;
        },
        change: (current) => change(current) ?? current,
        toItem: toSubscriptionItem,
        write: (planned) => writeChange(table, target, planned),
      }),
    // In one transaction with the release of its claim, so that the next subscribe never sees one without the other, and
    // with its archive, if it can be restored.
    markDeleted: (target, restorableUntil) =>
      retryChange(table, describeTarget(target), async () => {
        const found = await findStored(table, target);
        if (found === undefined || isMarked(found)) return found?.current;
        return mark(table, found, target.now, restorableUntil);
      }),
    // Its claim was released when it was marked.
    removeMarked: async (queue, subscriptionId) => {
      const deletion = table.delete({
        Key: subscriptionItemKey(queue, subscriptionId),
        ConditionExpression: 'attribute_exists(deletedAt)',
      });
      await ifConditionHolds(deletion);
    },
  };
}

function describeTarget({ queue, subscriptionId }: SubscriptionKey): string {
  return `subscription ${queue}/${subscriptionId}`;
}

async function mark(
  table: RegistryTable,
  found: Stored<Subscription>,
  now: number,
  until: number | undefined,
): Promise<Subscription | 'again'> {
  const { item, current: before } = found;
  const deletion = planDeletion(before, now, until);
  const after = { ...before, deletedAt: now, ...deletion };
  const edits = findEdits(item, toSubscriptionItem(before), toSubscriptionItem(after));
  const update = updateOfSubscription(found, edits, ['subscriber', ...ARCHIVED_FIELDS]);
  const key = { queue: before.queue, subscriptionId: before.id };
  const archive = deletion && putArchive(subscriptionArchiveKey(key), item, deletion);
  const result = await transactWrite(table, [
    update,
    deleteClaim(before, before.id),
    ...(archive ? [archive] : []),
  ]);
  if (result.kind === 'written') return after;
  if (result.writes[0]?.failed === true) return 'again';
  // It had expired, and another subscription now holds its subscriber.
  if (deletion !== undefined) return mark(table, found, now, undefined);
  const written = await ifConditionHolds(table.update(update.Update));
  return written === undefined ? 'again' : after;
}

/** Fields that callers change. The archive must have them as they are, so they must be as read. */
const ARCHIVED_FIELDS = ['secrets', 'options', 'auth', 'pullTokens', 'pauses'] as const;

function isMarked({ current }: Stored<Subscription>): boolean {
  return current.deletedAt !== undefined;
}

/** Undefined also if its queue is deleted. */
async function findStored(
  table: RegistryTable,
  { queue, subscriptionId }: SubscriptionKey,
): Promise<Stored<Subscription> | undefined> {
  const [queueItem, item] = await Promise.all([
    readItem(table, queueItemKey(queue)),
    readItem(table, subscriptionItemKey(queue, subscriptionId)),
  ]);
  return item === undefined || isDeletedQueue(queueItem)
    ? undefined
    : { item, current: toSubscription(item) };
}

async function writeChange(
  table: RegistryTable,
  { now }: SubscriptionAt,
  { found, after, edits, token }: PlannedChange<Subscription>,
): Promise<'written' | 'again' | SubscriberConflict> {
  const before = found.current;
  const claims = claimsFor(before, after, now);
  const guards = before.version === after.version ? [] : FIELDS_OF_SUBSCRIBER;
  if (claims.length === 0) {
    const { Update } = updateOfSubscription(found, edits, guards, token);
    const written = await ifConditionHolds(table.update(Update));
    return written === undefined ? 'again' : 'written';
  }
  const update = updateOfSubscription(found, edits, [...CLAIM_FIELDS, ...guards], token);
  const result = await transactWrite(table, [update, ...claims]);
  if (result.kind === 'written') return 'written';
  const refusal = afterRefusal(result.writes);
  if (refusal === 'again') return refusal;
  return (await releaseSubscriber(table, after, refusal.subscriptionId)) ? 'again' : refusal;
}

/**
 * A new subscriber gets neither the health nor the credentials of the old one. If deliver or another request writes one
 * of them meanwhile, this condition fails, and the change is recomputed.
 */
const FIELDS_OF_SUBSCRIBER = ['disabled', 'failing', 'pressure', 'options', 'auth'] as const;

function afterRefusal([update, claim]: readonly RefusedWrite[]): SubscriberConflict | 'again' {
  return update?.failed !== true && claim?.failed === true
    ? { kind: 'conflict', subscriptionId: toHolder(claim.item) }
    : 'again';
}

/** The attributes that a claim depends on. A change of the claim requires them as they were read. */
const CLAIM_FIELDS = ['subscriber', 'expiresAt'] as const;

/** The new claim is the first write; its failure is a conflict. */
function claimsFor(before: Subscription, after: Subscription, now: number): readonly TableWrite[] {
  const moves = subscriberItemKey(before).sk !== subscriberItemKey(after).sk;
  if (!moves && before.expiresAt === after.expiresAt) return [];
  const claim = putClaim(after, now);
  return moves ? [claim, deleteClaim(before, before.id)] : [claim];
}

function updateOfSubscription(
  { item, current }: Stored<Subscription>,
  edits: readonly ItemEdit[],
  guards: readonly string[],
  token?: string,
) {
  return {
    Update: {
      Key: subscriptionItemKey(current.queue, current.id),
      // The condition fails if the subscription is gone or marked deleted, so that an edit cannot restore it.
      ...buildUpdate(edits, { id: item['id'], deletedAt: undefined, ...pick(item, guards) }, token),
    },
  };
}

function pick(item: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, item[name]]));
}
