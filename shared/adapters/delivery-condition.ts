import { primaryKey } from '../config/tables.ts';
import type { Expectation, Lease } from '../domain/delivery.ts';
import type { Expression } from './expression.ts';

/** Of a record that is there already; `absent` is a condition of PutItem. */
export type StandingExpectation = Exclude<Expectation, { kind: 'absent' }>;

/**
 * Domain `holds`, said in DynamoDB's language. Attempts are counted by `size`, so that there is no counter beside the list
 * that could say something else. A comparison with an attribute that is missing is false, but for `<>`.
 */
export const conditionOf = (expect: StandingExpectation, to: Expression): string => {
  switch (expect.kind) {
    case 'claimable':
      return `${awaiting(expect.recorded, to)} AND attribute_not_exists(${to.name('lease')}) AND ${due(expect.now, to)}`;
    case 'lapsed':
      return `${awaiting(expect.recorded, to)} AND ${sameLease(expect.lease, to)}`;
    case 'leased':
      return `${awaiting(expect.recorded, to)} AND ${equal(['lease', 'owner'], expect.owner, to)}`;
    case 'open':
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
};

const exists = (to: Expression): string => `attribute_exists(${to.name(primaryKey.partition)})`;

const awaiting = (recorded: number, to: Expression): string =>
  `${to.name('status')} IN (${to.value('pending')}, ${to.value('retrying')}) AND size(${to.name('attempts')}) = ${to.value(recorded)}`;

const due = (now: number, to: Expression): string =>
  `(attribute_not_exists(${to.name('next')}) OR ${to.name('next', 'dueAt')} <= ${to.value(now)})`;

const over = (expect: Extract<StandingExpectation, { kind: 'over' }>, to: Expression): string =>
  [
    equal(['status'], expect.status, to),
    `size(${to.name('attempts')}) = ${to.value(expect.recorded)}`,
    // The first round is not written.
    expect.round === 1 ? `attribute_not_exists(${to.name('round')})` : equal(['round'], expect.round, to),
    `attribute_not_exists(${to.name('owed')})`,
  ].join(' AND ');

const leaseAsRead = (lease: Lease | undefined, to: Expression): string =>
  lease === undefined ? `attribute_not_exists(${to.name('lease')})` : sameLease(lease, to);

const sameOrNone = (path: readonly string[], value: unknown, to: Expression): string =>
  value === undefined ? `attribute_not_exists(${to.name(...path)})` : equal(path, value, to);

const sameLease = (lease: Lease, to: Expression): string =>
  `${equal(['lease', 'owner'], lease.owner, to)} AND ${equal(['lease', 'until'], lease.until, to)}`;

const equal = (path: readonly string[], value: unknown, to: Expression): string =>
  `${to.name(...path)} = ${to.value(value)}`;
