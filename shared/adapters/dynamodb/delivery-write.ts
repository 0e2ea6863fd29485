import { deliveryIndexes, primaryKey } from '../../config/tables.ts';
import type { DeliveryChange, DeliveryKey, Expectation, Lease } from '../../domain/delivery/delivery.ts';
import { OPEN_STATUSES } from '../../domain/vocabulary.ts';
import { attemptItemOf, isDefault, policyItemOf } from './delivery-item.ts';
import { isListed, listingPartitionsOf, overduePartitionOf } from './delivery-keys.ts';
import type { Expression } from './writes.ts';

/** Conditions on an existing record; `absent` is a condition of PutItem. */
type ExistingRecordExpectation = Exclude<Expectation, { kind: 'absent' }>;

/**
 * Domain `holds` as a condition expression. Attempts are counted by `size`: a separate counter could disagree
 * with the list. A comparison with a missing attribute is false, except `<>`.
 */
export function conditionOf(expect: ExistingRecordExpectation, to: Expression): string {
  switch (expect.kind) {
    case 'claimable':
      return `${awaiting(expect.recorded, to)} AND attribute_not_exists(${to.name('lease')}) AND ${due(expect.now, to)}`;
    case 'lease_expired':
      return `${awaiting(expect.recorded, to)} AND ${sameLease(expect.lease, to)}`;
    case 'leased':
      return `${awaiting(expect.recorded, to)} AND ${equal(['lease', 'owner'], expect.owner, to)}`;
    case 'as_read':
      return `${awaiting(expect.recorded, to)} AND ${sameOrNone(['next', 'dueAt'], expect.dueAt, to)} AND ${leaseAsRead(expect.lease, to)}`;
    case 'over':
      return over(expect, to);
    case 'present':
      return exists(to);
    case 'undelivered':
      return `${exists(to)} AND ${to.name('status')} <> ${to.value('delivered')}`;
    case 'owing':
      return expect.owed.length === 0
        ? `${exists(to)} AND attribute_not_exists(${to.name('owed')})`
        : equal(['owed'], expect.owed, to);
    case 'overdue_at':
      return equal(['overdueAt'], expect.overdueAt, to);
  }
}

function exists(to: Expression): string {
  return `attribute_exists(${to.name(primaryKey.partition)})`;
}

function awaiting(recorded: number, to: Expression): string {
  const open = OPEN_STATUSES.map((status) => to.value(status)).join(', ');
  return `${to.name('status')} IN (${open}) AND size(${to.name('attempts')}) = ${to.value(recorded)}`;
}

function due(now: number, to: Expression): string {
  return `(attribute_not_exists(${to.name('next')}) OR ${to.name('next', 'dueAt')} <= ${to.value(now)})`;
}

function over(expect: Extract<ExistingRecordExpectation, { kind: 'over' }>, to: Expression): string {
  return [
    equal(['status'], expect.status, to),
    `size(${to.name('attempts')}) = ${to.value(expect.recorded)}`,
    // The default round, 1, is not stored.
    expect.round === 1 ? `attribute_not_exists(${to.name('round')})` : equal(['round'], expect.round, to),
    `attribute_not_exists(${to.name('owed')})`,
  ].join(' AND ');
}

function leaseAsRead(lease: Lease | undefined, to: Expression): string {
  return lease === undefined ? `attribute_not_exists(${to.name('lease')})` : sameLease(lease, to);
}

function sameOrNone(path: readonly string[], value: unknown, to: Expression): string {
  return value === undefined ? `attribute_not_exists(${to.name(...path)})` : equal(path, value, to);
}

function sameLease(lease: Lease, to: Expression): string {
  return `${equal(['lease', 'owner'], lease.owner, to)} AND ${equal(['lease', 'until'], lease.until, to)}`;
}

function equal(path: readonly string[], value: unknown, to: Expression): string {
  return `${to.name(...path)} = ${to.value(value)}`;
}

/** Attributes and their new values; `null` removes one. Attributes not named stay. */
type Assignments = Record<string, unknown>;

/**
 * Domain `apply`, except `expiresAt`, as an update expression. `more` are attributes that only the adapter uses.
 */
export function updateOf(
  key: DeliveryKey,
  change: DeliveryChange,
  more: Assignments,
  to: Expression,
): string {
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
}

function isRemoval(name: string, value: unknown): boolean {
  return value === null || isDefault(name, value);
}

function fieldsOf(change: DeliveryChange): Assignments {
  return {
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
  } satisfies Record<
    Exclude<keyof DeliveryChange, 'appendAttempt' | 'appendLateResult' | 'expiresAt'>,
    unknown
  >;
}

function indexKeysOf(key: DeliveryKey, { status, next, overdueAt }: DeliveryChange): Assignments {
  return {
    ...(status === undefined ? {} : isListed({ status, next }) ? listingPartitionsOf(key) : UNLISTED),
    ...(overdueAt === undefined
      ? {}
      : { [deliveryIndexes.overdue.partition]: overdueAt === null ? null : overduePartitionOf(key) }),
  };
}

const UNLISTED: Assignments = {
  [deliveryIndexes.byQueue.partition]: null,
  [deliveryIndexes.bySubscription.partition]: null,
};

function appendsOf({ appendAttempt, appendLateResult }: DeliveryChange, to: Expression): string[] {
  return [
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
}
