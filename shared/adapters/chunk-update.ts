import { ttlAttribute } from '../config/tables.ts';
import type { ChunkChange, ChunkExpectation, ChunkTransition } from '../domain/chunk.ts';
import { standingItemOf } from './chunk-item.ts';
import { chunkItemKeyOf } from './delivery-keys.ts';
import { expression, type Expression } from './expression.ts';
import { RECORD_VERSION, ttlOf } from './record.ts';

/** A chunk's transition as an update; it answers with the item that refused it. */
export const chunkUpdateOf = ({ key, expect, change }: ChunkTransition) => {
  const to = expression();
  return {
    Key: chunkItemKeyOf(key),
    UpdateExpression: updateOf(change, to),
    ConditionExpression: conditionOf(expect, to),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
    ...to.attributes(),
  };
};

/** Domain `chunkHolds`, said in DynamoDB's language. A comparison with an attribute that is missing is false. */
const conditionOf = (expect: ChunkExpectation, to: Expression): string => {
  switch (expect.kind) {
    case 'unclaimed':
      return `attribute_not_exists(${to.name('members')})`;
    case 'held':
      return [
        `${to.name('lease', 'owner')} = ${to.value(expect.owner)}`,
        ...expect.pending.map((id) => isPending(id, to)),
      ].join(' AND ');
    case 'lapsed':
      return `${to.name('lease', 'owner')} = ${to.value(expect.lease.owner)} AND ${to.name('lease', 'until')} = ${to.value(expect.lease.until)}`;
    case 'member':
      return expect.standing === 'pending'
        ? isPending(expect.subscriptionId, to)
        : `${to.name('members', expect.subscriptionId)}[0] = ${to.value(expect.standing.startedAt)}`;
  }
};

const isPending = (subscriptionId: string, to: Expression): string =>
  `${to.name('members', subscriptionId)} = ${to.value(standingItemOf('pending'))}`;

/** Domain `applyToChunk`, but that `expiresAt` may move by what clocks differ. */
const updateOf = (change: ChunkChange, to: Expression): string => {
  const { claim, standings = [], early, lease, updatedAt, expiresAt } = change;
  const fields = {
    v: RECORD_VERSION,
    ...(claim === undefined
      ? {}
      : {
          acceptedAt: claim.acceptedAt,
          members: Object.fromEntries(claim.members.map((id) => [id, standingItemOf('pending')])),
          lease: claim.lease,
        }),
    updatedAt,
    expiresAt,
    [ttlAttribute]: ttlOf(expiresAt),
  };
  const sets = [
    ...Object.entries(fields).map(([name, value]) => `${to.name(name)} = ${to.value(value)}`),
    ...[...standings].map(
      ([id, standing]) => `${to.name('members', id)} = ${to.value(standingItemOf(standing))}`,
    ),
  ];
  return [
    `SET ${sets.join(', ')}`,
    ...(early === undefined ? [] : [`ADD ${to.name('early')} ${to.value(new Set([early]))}`]),
    ...(lease === null ? [`REMOVE ${to.name('lease')}`] : []),
  ].join(' ');
};
