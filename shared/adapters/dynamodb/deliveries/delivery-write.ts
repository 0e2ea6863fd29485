import { deliveryIndexes, ttlAttribute } from '../../../config/tables.ts';
import type {
  DeliveryChange,
  DeliveryKey,
  Expectation,
  Lease,
  Revision,
} from '../../../domain/delivery/delivery.ts';
import { OPEN_STATUSES } from '../../../domain/delivery/vocabulary.ts';
import {
  disabledVersion,
  isDefault,
  toAttemptItem,
  toNextItem,
  toPolicyItem,
  toStepNames,
} from './delivery-item.ts';
import { isListed, toListingPartitions, toOverduePartition } from './delivery-keys.ts';
import { toTtl } from '../record.ts';
import { EXISTS, type Expression } from '../writes.ts';

/**
 * Domain `holds` as a condition expression. Attempts are counted by `size`: a separate counter could disagree
 * with the list. A comparison with a missing attribute is false, except `<>`.
 */
export function buildCondition(expect: Revision['expect'], expr: Expression): string {
  switch (expect.kind) {
    case 'claimable':
      return `${openWithAttempts(expect.recorded, expr)} AND ${expr.equal('lease', undefined)} AND ${nextIsDue(expect.now, expr)} AND ${expr.equal(['next', 'paused'], undefined)}`;
    case 'lease_expired':
      return `${openWithAttempts(expect.recorded, expr)} AND ${sameLease(expect.lease, expr)}`;
    case 'leased':
      return `${openWithAttempts(expect.recorded, expr)} AND ${expr.equal(['lease', 'owner'], expect.owner)}`;
    case 'as_read':
      return `${openWithAttempts(expect.recorded, expr)} AND ${expr.equal(['next', 'dueAt'], expect.dueAt)} AND ${leaseAsRead(expect.lease, expr)}`;
    case 'over':
      return endedAsRead(expect, expr);
    case 'present':
      return EXISTS;
    case 'undelivered':
      return `${EXISTS} AND ${expr.name('status')} <> ${expr.value('delivered')}`;
    case 'steps_as_read':
      return expect.pendingSteps.length === 0
        ? `${EXISTS} AND ${expr.equal('owed', undefined)}`
        : expr.equal('owed', toStepNames(expect.pendingSteps));
    case 'overdue_at':
      return expr.equal('overdueAt', expect.overdueAt);
  }
}

function openWithAttempts(recorded: number, expr: Expression): string {
  const open = OPEN_STATUSES.map((status) => expr.value(status)).join(', ');
  return `${expr.name('status')} IN (${open}) AND size(${expr.name('attempts')}) = ${expr.value(recorded)}`;
}

function nextIsDue(now: number, expr: Expression): string {
  return `(attribute_not_exists(${expr.name('next')}) OR ${expr.name('next', 'dueAt')} <= ${expr.value(now)})`;
}

function endedAsRead(expect: Extract<Expectation, { kind: 'over' }>, expr: Expression): string {
  return [
    expr.equal('status', expect.status),
    `size(${expr.name('attempts')}) = ${expr.value(expect.recorded)}`,
    // The default round, 1, is not stored.
    expr.equal('round', expect.round === 1 ? undefined : expect.round),
    expr.equal('owed', undefined),
  ].join(' AND ');
}

function leaseAsRead(lease: Lease | undefined, expr: Expression): string {
  return lease === undefined ? expr.equal('lease', undefined) : sameLease(lease, expr);
}

function sameLease(lease: Lease, expr: Expression): string {
  return `${expr.equal(['lease', 'owner'], lease.owner)} AND ${expr.equal(['lease', 'until'], lease.until)}`;
}

/** Attributes and their new values; `null` removes one. Attributes not named stay. */
type Assignments = Record<string, unknown>;

/**
 * Domain `apply`, except for a new `expiresAt`, as an update expression. `more` are attributes that only the adapter uses.
 */
export function buildUpdate(
  key: DeliveryKey,
  change: DeliveryChange,
  more: Assignments,
  expr: Expression,
): string {
  const assigned = Object.entries({ ...buildFields(change), ...buildIndexKeys(key, change), ...more })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]): [string, unknown] => [
      name,
      value === null || isDefault(name, value) ? undefined : value,
    ]);
  return expr.update(
    Object.fromEntries(assigned),
    ...buildAppends(change, expr),
    ...buildLaterExpiry(change, expr),
  );
}

function buildFields(change: DeliveryChange): Assignments {
  return {
    ...buildState(change),
    round: change.round,
    lost: change.lost,
    policy: change.policy && toPolicyItem(change.policy),
    recoveries: change.recoveries,
    lease: change.lease,
    lapsed: change.lapsed,
    overdueAt: change.overdueAt,
    updatedAt: change.updatedAt,
  } satisfies Record<
    Exclude<
      keyof DeliveryChange,
      'status' | 'appendAttempt' | 'appendLateResult' | 'expiresAt' | 'expiresLaterBy'
    >,
    unknown
  >;
}

function buildState(change: DeliveryChange): Assignments {
  switch (change.status) {
    case undefined:
      return { owed: change.pendingSteps && toStepNames(change.pendingSteps) };
    case 'pending':
    case 'retrying': {
      const { status, next, slot } = change;
      return { status, reason: null, owed: [], next: toNextItem(next), slot };
    }
    case 'delivered':
    case 'rejected':
    case 'exhausted':
    case 'cancelled': {
      const { status, reason = null, pendingSteps = [] } = change;
      return { status, reason, next: null, slot: null, owed: toStepNames(pendingSteps) };
    }
  }
}

function buildIndexKeys(key: DeliveryKey, change: DeliveryChange): Assignments {
  const { status, overdueAt } = change;
  const next = 'next' in change ? change.next : undefined;
  return {
    ...(status === undefined ? {} : isListed({ status, next }) ? toListingPartitions(key) : UNLISTED),
    ...(overdueAt === undefined
      ? {}
      : {
          [deliveryIndexes.overdue.partition]:
            overdueAt === null ? null : toOverduePartition(key, { next, lease: change.lease }),
        }),
  };
}

const UNLISTED: Assignments = {
  [deliveryIndexes.byQueue.partition]: null,
  [deliveryIndexes.bySubscription.partition]: null,
};

function buildLaterExpiry({ expiresLaterBy = 0 }: DeliveryChange, expr: Expression): string[] {
  if (expiresLaterBy === 0) return [];
  const moved = (name: string, by: number) => `${expr.name(name)} = ${expr.name(name)} + ${expr.value(by)}`;
  return [moved('expiresAt', expiresLaterBy), moved(ttlAttribute, toTtl(expiresLaterBy))];
}

function buildAppends(change: DeliveryChange, expr: Expression): string[] {
  const { appendAttempt, appendLateResult } = change;
  const version = 'pendingSteps' in change ? disabledVersion(change.pendingSteps) : undefined;
  return [
    ...(appendAttempt ? [expr.append('attempts', [toAttemptItem(appendAttempt, version)])] : []),
    ...(appendLateResult ? [expr.append('lateResults', [toAttemptItem(appendLateResult)])] : []),
  ];
}
