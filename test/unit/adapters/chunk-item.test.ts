import { randomUUID } from 'node:crypto';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunkOfItem, chunkUpdateOf, stateItemOf } from '../../../shared/adapters/dynamodb/chunks.ts';
import { chunkItemKeyOf } from '../../../shared/adapters/dynamodb/delivery-keys.ts';
import { RECORD_VERSION, ttlOf, UnreadableRecordError } from '../../../shared/adapters/dynamodb/record.ts';
import { ttlAttribute } from '../../../shared/config/tables.ts';
import {
  type Chunk,
  type MemberState,
  claimChunk,
  recordSuccesses,
} from '../../../shared/domain/delivery/chunk.ts';
import { arbitrarySuccess } from '../../support/chunk-arbitraries.ts';
import { aChunk, aChunkKey, aFirstSuccess, HOLDER, RETENTION_MS } from '../../support/chunk-builders.ts';
import { SOME_TIME, answered } from '../../support/delivery-builders.ts';

const itemOf = ({ key, members = new Map(), excluded, lease, ...times }: Chunk): Record<string, unknown> => ({
  ...chunkItemKeyOf(key),
  v: RECORD_VERSION,
  members: Object.fromEntries([...members].map(([id, state]) => [id, stateItemOf(state)])),
  ...(excluded.size === 0 ? {} : { early: excluded }),
  ...(lease === undefined ? {} : { lease }),
  ...times,
  [ttlAttribute]: ttlOf(times.expiresAt),
});

/**
 * Bytes by the rules of "DynamoDB item sizes and formats" (DynamoDB developer guide), with numbers at their
 * longest.
 */
const bytesOf = (value: AttributeValue): number => {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.N !== undefined) return Math.ceil(value.N.replace(/[^0-9]/g, '').length / 2) + 1;
  if (value.L !== undefined) return 3 + value.L.reduce((sum, one) => sum + 1 + bytesOf(one), 0);
  if (value.M !== undefined)
    return 3 + Object.entries(value.M).reduce((sum, [name, one]) => sum + 1 + name.length + bytesOf(one), 0);
  return 1;
};

const itemBytes = (item: Record<string, unknown>): number =>
  Object.entries(marshall(item)).reduce((sum, [name, value]) => sum + name.length + bytesOf(value), 0);

const state: fc.Arbitrary<MemberState> = fc.oneof(
  fc.constantFrom<MemberState[]>('pending', 'separate'),
  arbitrarySuccess,
);

/** Any subscription id except `__proto__`, which is special on objects; real ids are UUIDs. */
const memberId = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/).filter((id) => id !== '__proto__');

describe('the item of a chunk', () => {
  it('is read back unchanged for any member ids and states', () => {
    const members = fc.array(fc.tuple(memberId, state), {
      minLength: 1,
    });
    fc.assert(
      fc.property(members, fc.boolean(), (entries, isEarly) => {
        const chunk = aChunk({
          members: new Map(entries),
          ...(isEarly ? { excluded: new Set(['s-1', '2']) } : {}),
        });
        expect(chunkOfItem(itemOf(chunk))).toEqual(chunk);
      }),
    );
  });

  it.each(['ok', undefined])(
    'with ten delivered members takes one write unit, with the snippet %s',
    (snippet) => {
      const success = aFirstSuccess({ durationMs: 1234.5, ...(snippet === undefined ? {} : { snippet }) });
      const chunk = aChunk({
        key: aChunkKey({ queue: 'orders.of-a-long-name.eu-west-1', chunk: 12 }),
        members: new Map(Array.from({ length: 10 }, () => [randomUUID(), success])),
        lease: { owner: `${randomUUID()}/10`, until: SOME_TIME },
      });
      expect(itemBytes(itemOf(chunk))).toBeLessThanOrEqual(1024);
    },
  );

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['of another version', { v: 2 }, /v/],
    ['that is not a chunk', { sk: 'DELIVERY#a' }, /sk/],
    ['with an invalid number', { sk: 'CHUNK#x' }, /sk/],
    ['with an unknown member state', { members: { a: 2 } }, /members\.a/],
    ['with a success without a start time', { members: { a: [null, 1, 200] } }, /members\.a/],
  ])('is not readable %s', (_, change, field) => {
    const item = { ...itemOf(aChunk()), ...change };
    expect(() => chunkOfItem(item)).toThrow(UnreadableRecordError);
    expect(() => chunkOfItem(item)).toThrow(field);
  });
});

describe('a write to a chunk', () => {
  const ids = Array.from({ length: 60 }, () => randomUUID());
  const key = aChunkKey();
  const at = { now: SOME_TIME, retentionMs: RETENTION_MS };
  const successes = new Map(ids.map((id) => [id, aFirstSuccess({ result: answered(200, 'x'.repeat(256)) })]));

  it.each([
    ['claim', claimChunk(key, { acceptedAt: SOME_TIME, members: ids, lease: HOLDER }, at)],
    ['record', recordSuccesses(key, HOLDER.owner, { successes, separate: [], ends: true }, at)],
  ])('is within the limits of an expression with sixty members: a %s', (_, transition) => {
    const update = chunkUpdateOf(transition);
    const { UpdateExpression, ConditionExpression, ExpressionAttributeNames, ExpressionAttributeValues } =
      update;
    // 4 KB for a text, 300 operators, 255 bytes for a reference ("Constraints in DynamoDB", developer guide).
    for (const text of [UpdateExpression, ConditionExpression]) {
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4096);
      expect(text.match(/=|AND|attribute_not_exists/g)?.length ?? 0).toBeLessThanOrEqual(300);
    }
    const used = `${UpdateExpression} ${ConditionExpression}`;
    for (const name of [...Object.keys(ExpressionAttributeNames), ...Object.keys(ExpressionAttributeValues)])
      expect(used).toMatch(new RegExp(`${name}\\b`));
  });

  it('refers to each member by a different name, which contains only allowed characters', () => {
    const odd = ['-a', '_a', 'a', '0', 'a-b', 'a_b', 'members', 'lease'];
    const update = chunkUpdateOf(
      recordSuccesses(
        key,
        HOLDER.owner,
        { successes: new Map(odd.map((id) => [id, aFirstSuccess()])), separate: [], ends: false },
        at,
      ),
    );
    const names = update.ExpressionAttributeNames;
    for (const reference of Object.keys(names)) expect(reference).toMatch(/^#[A-Za-z0-9_]{1,254}$/);
    expect(new Set(Object.values(names)).size).toBe(Object.keys(names).length);
    expect(Object.values(names)).toEqual(expect.arrayContaining(odd));
  });
});
