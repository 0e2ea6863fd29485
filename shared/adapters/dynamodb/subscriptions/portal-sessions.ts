import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { primaryKey, ttlAttribute } from '../../../config/tables.ts';
import { contended, withRetriedWrites } from '../../../domain/contention.ts';
import { MINUTE_MS } from '../../../domain/duration.ts';
import {
  type PortalAccess,
  portalAccessSchema,
  type PortalKey,
  type PortalSession,
  portalSessionSchema,
} from '../../../domain/portal/session.ts';
import type { CountedRequest, PortalSessions } from '../../../ports/portal-sessions.ts';
import { queryItems, queryOfPrefix, readItem } from '../queries.ts';
import { decodeRecord, type ItemKey, RECORD_VERSION, toTtl } from '../record.ts';
import { openTable, type Table } from '../table.ts';
import { conditional, type Expression, expression, putIfAbsent, updateReturningItem } from '../writes.ts';

/** Links and sessions in the subscriptions table, a partition for each queue. AWS errors pass through. */
export function dynamoPortalSessions(client: DynamoDBDocument, tableName: string): PortalSessions {
  const table = openTable(client, tableName);
  return {
    addLink: async (link) => {
      await table.put(putIfAbsent(toItem(link)));
    },
    // One conditional write: two callers with one link, or an end at the same time, leave one of them without.
    openLink: async (key, linkHash, { tokenHash, now, expiresAt }) => {
      const values = {
        state: 'session' satisfies PortalAccess['state'],
        tokenHash,
        expiresAt,
        [ttlAttribute]: toTtl(expiresAt),
      };
      const result = await updateInForce(table, key, { state: 'link', now }, (expr) => ({
        update: expr.update(values),
        condition: expr.equal('tokenHash', linkHash),
      }));
      const item = result.kind === 'written' ? result.output.Attributes : result.item;
      const session = item && asSession(toAccess(item), now);
      // Our own write, retried: treat as success.
      return session?.tokenHash === tokenHash ? session : undefined;
    },
    findSession: async (key, now) => {
      const item = await readItem(table, toKey(key));
      return item === undefined ? undefined : asSession(toAccess(item), now);
    },
    countRequest: (key, limit) =>
      withRetriedWrites(() => countRequest(table, key, limit), contended(`portal session ${key.name}`)),
    // A link that is opened meanwhile keeps its item, so this finds the session.
    endSessions: async (queue, sessionId) => {
      const ofSession = queryOfPrefix(partitionOf(queue), `${namePrefix}${sessionId}.`);
      for (;;) {
        const items = await queryItems(table, { ConsistentRead: true, ...ofSession });
        if (items.length === 0) return;
        for (const { [primaryKey.partition]: pk, [primaryKey.sort]: sk } of items)
          await table.delete({ Key: { pk, sk } });
      }
    },
  };
}

function partitionOf(queue: string): string {
  return `PORTAL#${queue}`;
}

const namePrefix = 'SESSION#';

function toKey({ queue, name }: PortalKey): ItemKey {
  return { pk: partitionOf(queue), sk: `${namePrefix}${name}` };
}

function toItem(access: PortalAccess) {
  return {
    ...toKey(access),
    v: RECORD_VERSION,
    ...access,
    // DynamoDB deletes later than this, so `expiresAt` decides.
    [ttlAttribute]: toTtl(access.expiresAt),
  };
}

/** @throws UnreadableRecordError */
function toAccess(item: unknown): PortalAccess {
  return decodeRecord(portalAccessSchema, item);
}

function asSession(access: PortalAccess, now: number): PortalSession | undefined {
  return access.state === 'session' && access.expiresAt > now ? access : undefined;
}

/** A later minute begins anew. An earlier one, by another clock, counts in the current one. */
async function countRequest(
  table: Table,
  key: PortalKey,
  { now, perMinute }: { now: number; perMinute: number },
): Promise<CountedRequest | 'again'> {
  const minute = Math.floor(now / MINUTE_MS);
  const result = await count(table, key, now, (expr) => ({
    update: expr.add({ requests: 1 }),
    condition: `${expr.name('minute')} >= ${expr.value(minute)} AND ${expr.name('requests')} < ${expr.value(perMinute)}`,
  }));
  if (result.kind === 'counted') return result;
  if (result.item === undefined || asSession(toAccess(result.item), now) === undefined)
    return { kind: 'ended' };
  if (Number(result.item['minute'] ?? 0) >= minute) return { kind: 'too_many' };
  const begun = await count(table, key, now, (expr) => ({
    update: expr.update({ minute, requests: 1 }),
    condition: `(attribute_not_exists(${expr.name('minute')}) OR ${expr.name('minute')} < ${expr.value(minute)})`,
  }));
  return begun.kind === 'counted' ? begun : 'again';
}

async function count(table: Table, key: PortalKey, now: number, plan: UpdatePlan) {
  const result = await updateInForce(table, key, { state: 'session', now }, plan);
  if (result.kind === 'refused') return result;
  return { kind: 'counted', session: decodeRecord(portalSessionSchema, result.output.Attributes) } as const;
}

type UpdatePlan = (expr: Expression) => { update: string; condition: string };

/** Updates a link, or a session, that has not expired. */
function updateInForce(
  table: Table,
  key: PortalKey,
  { state, now }: { state: PortalAccess['state']; now: number },
  plan: UpdatePlan,
) {
  const expr = expression();
  const { update, condition } = plan(expr);
  const inForce = [expr.equal('state', state), `${expr.name('expiresAt')} > ${expr.value(now)}`, condition];
  return conditional(table.update(updateReturningItem(toKey(key), update, inForce.join(' AND '), expr)));
}
