import { randomBytes } from 'node:crypto';

import type { DocumentClient } from './aws/document-client.ts';
import { conditional } from './dynamo-condition.ts';
import { primaryKey, ttlAttribute } from '../config/tables.ts';
import { holds } from '../domain/delivery.ts';
import type { Delivery, Transition } from '../domain/delivery.ts';
import type { Deliveries, WriteResult } from '../ports/deliveries.ts';
import { conditionOf } from './delivery-condition.ts';
import { deliveryItemOf, deliveryOf } from './delivery-item.ts';
import { itemKeyOf } from './delivery-keys.ts';
import { updateOf } from './delivery-update.ts';
import { overdueDeliveries } from './dynamo-delivery-queries.ts';
import { expression } from './expression.ts';
import { ttlOf } from './record.ts';

/**
 * Which write made an item what it is. The client sends a request again whose answer was lost; the copy is refused by what
 * the first one wrote, and without this mark the holder of a lease would think that somebody else has it.
 */
const MARK = 'w';

type Creation = Extract<Transition, { create: Delivery }>;
type Revision = Exclude<Transition, Creation>;

/** Marks that nobody else writes on the same item: the process by chance, and its writes by number. Chance is dear. */
const markMaker = (): (() => string) => {
  const maker = randomBytes(6).toString('base64url');
  let made = 0;
  return () => {
    made += 1;
    return `${maker}${made.toString(36)}`;
  };
};

/** The deliveries table. Errors of AWS pass through, but for a condition that did not hold, which is an answer. */
export const dynamoDeliveries = (client: DocumentClient, tableName: string): Deliveries => {
  const newMark = markMaker();
  return {
    write: async (transition) => {
      const mark = newMark();
      return 'create' in transition
        ? await created(client, tableName, transition, mark)
        : await revised(client, tableName, transition, mark);
    },
    find: async (key) => {
      const { Item } = await client.get({ TableName: tableName, Key: itemKeyOf(key), ConsistentRead: true });
      return Item === undefined ? undefined : deliveryOf(Item);
    },
    overdue: (before, limit) => overdueDeliveries(client, tableName, before, limit),
  };
};

const created = async (
  client: DocumentClient,
  tableName: string,
  { create }: Creation,
  mark: string,
): Promise<WriteResult> =>
  await answered(mark, async () => {
    await client.put({
      TableName: tableName,
      Item: { ...deliveryItemOf(create), [MARK]: mark },
      ConditionExpression: `attribute_not_exists(${primaryKey.partition})`,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    return create;
  });

/**
 * One request. DynamoDB has no maximum in an update, so that `expiresAt` never moves back is a part of the condition; a
 * record that was refused only because it lives longer than the change says is written once more, its expiry left alone.
 * Whoever computes a change from the record as read never comes to that.
 */
const revised = async (
  client: DocumentClient,
  tableName: string,
  transition: Revision,
  mark: string,
): Promise<WriteResult> => {
  const write = (renewal: Renewal) =>
    answered(mark, async () =>
      deliveryOf((await client.update(updateRequest(tableName, transition, renewal, mark))).Attributes),
    );
  const result = await write('renews_expiry');
  return result.kind === 'refused' && outlives(result.current, transition)
    ? await write('keeps_expiry')
    : result;
};

type Renewal = 'renews_expiry' | 'keeps_expiry';

const outlives = (current: Delivery | undefined, { expect, change }: Revision): boolean =>
  current !== undefined && holds(expect, current) && current.expiresAt > change.expiresAt;

const updateRequest = (
  tableName: string,
  { key, expect, change }: Revision,
  renewal: Renewal,
  mark: string,
) => {
  const to = expression();
  const condition = conditionOf(expect, to);
  const { expiresAt } = change;
  const renews = renewal === 'renews_expiry';
  return {
    TableName: tableName,
    Key: itemKeyOf(key),
    UpdateExpression: updateOf(
      key,
      change,
      { [MARK]: mark, ...(renews ? { expiresAt, [ttlAttribute]: ttlOf(expiresAt) } : {}) },
      to,
    ),
    ConditionExpression: renews
      ? `${condition} AND ${to.name('expiresAt')} <= ${to.value(expiresAt)}`
      : condition,
    ReturnValues: 'ALL_NEW',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    ...to.attributes(),
  } as const;
};

/** A condition that did not hold answers with the record that refused it, unless that is our own write, sent twice. */
const answered = async (mark: string, write: () => Promise<Delivery>): Promise<WriteResult> => {
  const result = await conditional(write());
  if (result.kind === 'written') return { kind: 'written', delivery: result.output };
  const { item } = result;
  if (item === undefined) return { kind: 'refused', current: undefined };
  const current = deliveryOf(item);
  return item[MARK] === mark ? { kind: 'written', delivery: current } : { kind: 'refused', current };
};
