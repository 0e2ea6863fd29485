import { deliveryIndexes } from '../config/tables.ts';
import type { Change, DeliveryKey } from '../domain/delivery.ts';
import { attemptItemOf } from './attempt-item.ts';
import { isUsual } from './delivery-item.ts';
import { isListed, listingPartitionsOf, overduePartitionOf } from './delivery-keys.ts';
import type { Expression } from './expression.ts';
import { policyItemOf } from './retry-policy-item.ts';

/** Attributes as they are to be; `null` removes one. What is not named stays. */
type Assignments = Record<string, unknown>;

/** Domain `apply`, but for `expiresAt`, as an update expression. `more` are attributes of the adapter's own. */
export const updateOf = (key: DeliveryKey, change: Change, more: Assignments, to: Expression): string => {
  const assigned = Object.entries({ ...fieldsOf(change), ...indexKeysOf(key, change), ...more });
  const kept = assigned.filter(([, value]) => value !== undefined);
  const sets = kept
    .filter(([name, value]) => !isRemoval(name, value))
    .map(([name, value]) => `${to.name(name)} = ${to.value(value)}`);
  const removals = kept.filter(([name, value]) => isRemoval(name, value)).map(([name]) => to.name(name));
  return [
    `SET ${[...sets, ...appendsOf(change, to)].join(', ')}`,
    ...(removals.length === 0 ? [] : [`REMOVE ${removals.join(', ')}`]),
  ].join(' ');
};

const isRemoval = (name: string, value: unknown): boolean => value === null || isUsual(name, value);

const fieldsOf = (change: Change): Assignments => ({
  status: change.status,
  reason: change.reason,
  round: change.round,
  lost: change.lost,
  next: change.next,
  slot: change.slot,
  policy: change.policy && policyItemOf(change.policy),
  recoveries: change.recoveries,
  lease: change.lease,
  owed: change.owed,
  overdueAt: change.overdueAt,
  updatedAt: change.updatedAt,
});

const indexKeysOf = (key: DeliveryKey, { status, next, overdueAt }: Change): Assignments => ({
  ...(status === undefined ? {} : isListed({ status, next }) ? listingPartitionsOf(key) : UNLISTED),
  ...(overdueAt === undefined
    ? {}
    : { [deliveryIndexes.overdue.partition]: overdueAt === null ? null : overduePartitionOf(key) }),
});

const UNLISTED: Assignments = {
  [deliveryIndexes.byQueue.partition]: null,
  [deliveryIndexes.bySubscription.partition]: null,
};

const appendsOf = ({ appendAttempt, appendLateResult }: Change, to: Expression): string[] => [
  ...(appendAttempt === undefined
    ? []
    : [
        `${to.name('attempts')} = list_append(${to.name('attempts')}, ${to.value([attemptItemOf(appendAttempt)])})`,
      ]),
  ...(appendLateResult === undefined
    ? []
    : [
        `${to.name('lateResults')} = list_append(if_not_exists(${to.name('lateResults')}, ${to.value([])}), ${to.value([attemptItemOf(appendLateResult)])})`,
      ]),
];
