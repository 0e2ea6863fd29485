import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { ttlAttribute } from '../../../config/tables.ts';
import type {
  Chunk,
  ChunkChange,
  ChunkExpectation,
  ChunkTransition,
  FirstSuccess,
  MemberState,
} from '../../../domain/delivery/chunk.ts';
import type { Delivery } from '../../../domain/delivery/delivery.ts';
import type { Chunks } from '../../../ports/deliveries.ts';
import type { Pacing } from '../../lambda/invocation-deadline.ts';
import { toDeliveryItem } from './delivery-item.ts';
import { parseChunkKey, toChunkItemKey } from './delivery-keys.ts';
import { readItem } from '../queries.ts';
import { matchCounted } from './message-records.ts';
import { decode, decodeRecord, keySchema, RECORD_VERSION, toTtl } from '../record.ts';
import { openTable } from '../table.ts';
import { ABSENT, conditional, expression, type Expression, transactWrite } from '../writes.ts';

/** The CHUNK items of the deliveries table. */
export function dynamoChunks(client: DynamoDBDocument, tableName: string): Pick<Chunks, 'write' | 'find'> {
  const table = openTable(client, tableName);
  return {
    write: async (transition: ChunkTransition) => {
      const result = await conditional(
        table.update({ ...buildChunkUpdate(transition), ReturnValues: 'ALL_NEW' }),
      );
      if (result.kind === 'written') return { kind: 'written', chunk: chunkOfItem(result.output.Attributes) };
      return { kind: 'refused', current: result.item && chunkOfItem(result.item) };
    },
    find: async (key) => {
      const item = await readItem(table, toChunkItemKey(key));
      return item && chunkOfItem(item);
    },
  };
}

/** Creates separate records of deliveries, each in one transaction with the records that speak for it. */
export function dynamoSeparateRecords(
  client: DynamoDBDocument,
  tableName: string,
  pacing: Pacing,
): Pick<Chunks, 'takeOut' | 'add'> {
  const table = { name: tableName, client, clock: pacing };
  const chunkUpdate = (transition: ChunkTransition) => ({ Update: buildChunkUpdate(transition) });
  const creation = (delivery: Delivery) => ({
    Put: { Item: toDeliveryItem(delivery), ConditionExpression: ABSENT },
  });
  return {
    takeOut: async (transition, delivery) => {
      const result = await transactWrite(table, [chunkUpdate(transition), creation(delivery)]);
      return result.kind === 'written' ? 'taken_out' : 'refused';
    },
    add: async (delivery, exclusion) => {
      const result = await transactWrite(table, [
        creation(delivery),
        { Update: matchCounted(delivery) },
        ...(exclusion === undefined ? [] : [chunkUpdate(exclusion)]),
      ]);
      return result.kind === 'written' ? 'added' : 'refused';
    },
  };
}

/** Stored code of a member without a result. */
const PENDING = 0;

/** Stored code of a member whose delivery has a separate record. */
const SEPARATE = 1;

const number = z.number();

/** A success as a list, because the names of its fields would take most of the space. */
const successSchema = z
  .tuple([number, number, number])
  .rest(z.string())
  .transform(([startedAt, durationMs, statusCode, snippet]): FirstSuccess => {
    return {
      startedAt,
      durationMs,
      result: { kind: 'answered', statusCode, ...(snippet === undefined ? {} : { snippet }) },
    };
  });

const memberStateSchema = z.union([
  z.literal(PENDING).transform((): MemberState => 'pending'),
  z.literal(SEPARATE).transform((): MemberState => 'separate'),
  successSchema,
]);

const chunkSchema = z.object({
  acceptedAt: number.exactOptional(),
  dueAt: number.exactOptional(),
  /** By subscription id. */
  members: z.record(z.string(), memberStateSchema).exactOptional(),
  early: z.set(z.string()).exactOptional(),
  lease: z.object({ owner: z.string(), until: number }).exactOptional(),
  updatedAt: number,
  expiresAt: number,
  retentionDays: number.exactOptional(),
});

const chunkKeySchema = keySchema(parseChunkKey, 'sk');

/** @throws UnreadableRecordError */
export function chunkOfItem(item: unknown): Chunk {
  const { members, early, lease, acceptedAt, ...rest } = decodeRecord(chunkSchema, item);
  return {
    key: decode(chunkKeySchema, item),
    acceptedAt: acceptedAt ?? 0,
    ...(members === undefined ? {} : { members: new Map(Object.entries(members)) }),
    excluded: early ?? new Set(),
    ...(lease === undefined ? {} : { lease }),
    ...rest,
  };
}

/** The state of a member in stored form. */
export function toStateItem(state: MemberState): unknown {
  if (state === 'pending') return PENDING;
  if (state === 'separate') return SEPARATE;
  const { startedAt, durationMs, result } = state;
  const { statusCode, snippet } = result;
  return [startedAt, durationMs, statusCode, ...(snippet === undefined ? [] : [snippet])];
}

/** A chunk's transition as an update request. If its condition fails, the response contains the current item. */
export function buildChunkUpdate({ key, expect, change }: ChunkTransition) {
  const expr = expression();
  return {
    Key: toChunkItemKey(key),
    UpdateExpression: buildUpdate(change, expr),
    ConditionExpression: buildCondition(expect, expr),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
    ...expr.attributes(),
  };
}

/** A comparison with a missing attribute is false. The tests compare it with their `chunkHolds`. */
function buildCondition(expect: ChunkExpectation, expr: Expression): string {
  switch (expect.kind) {
    case 'unclaimed':
      return expr.equal('members', undefined);
    case 'leased':
      return [
        expr.equal(['lease', 'owner'], expect.owner),
        ...expect.pending.map((id) => isPending(id, expr)),
      ].join(' AND ');
    case 'lease_expired':
      return `${expr.equal(['lease', 'owner'], expect.lease.owner)} AND ${expr.equal(['lease', 'until'], expect.lease.until)}`;
    case 'member':
      return expect.state === 'pending'
        ? isPending(expect.subscriptionId, expr)
        : `${expr.name('members', expect.subscriptionId)}[0] = ${expr.value(expect.state.startedAt)}`;
  }
}

function isPending(subscriptionId: string, expr: Expression): string {
  return expr.equal(['members', subscriptionId], toStateItem('pending'));
}

/**
 * Does what `applyToChunk` of the tests does, except that `expiresAt` may move by the difference between
 * clocks.
 */
function buildUpdate(change: ChunkChange, expr: Expression): string {
  const { claim, states = [], exclude, lease, updatedAt, expiresAt } = change;
  const assigned = {
    v: RECORD_VERSION,
    ...(claim === undefined
      ? {}
      : {
          acceptedAt: claim.acceptedAt,
          ...(claim.dueAt === undefined ? {} : { dueAt: claim.dueAt }),
          members: Object.fromEntries(claim.members.map((id) => [id, toStateItem('pending')])),
          lease: claim.lease,
          ...(claim.retentionDays === undefined ? {} : { retentionDays: claim.retentionDays }),
        }),
    updatedAt,
    expiresAt,
    [ttlAttribute]: toTtl(expiresAt),
    ...(lease === null && { lease: undefined }),
  };
  const newStates = [...states].map(([id, state]) => expr.equal(['members', id], toStateItem(state)));
  const update = expr.update(assigned, ...newStates);
  return exclude === undefined ? update : `${update} ${expr.add({ early: new Set([exclude]) })}`;
}
