import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { primaryKey, ttlAttribute } from '../../config/tables.ts';
import type { BodyLocation } from '../../domain/message/body.ts';
import type { MessageKey } from '../../domain/message/message.ts';
import { replacementFor, isFromEarlierLife } from '../../domain/message/life.ts';
import type {
  AcceptedMessage,
  BodyState,
  MessageRecord,
  MessageRecords,
  NextPart,
} from '../../ports/messages.ts';
import { conditional, expression, type Expression, ifConditionHolds } from './writes.ts';
import {
  bodyItemOf,
  erasedBodyItem,
  messageItemKeyOf,
  messageItemOf,
  messageRecordOf,
  partItemOf,
} from './message-item.ts';
import { ttlOf } from './record.ts';
import { DAY_MS } from '../../domain/duration.ts';

/** The MESSAGE items of the deliveries table. */
export function dynamoMessageRecords(client: DynamoDBDocument, tableName: string): MessageRecords {
  const accept: MessageRecords['accept'] = async (record, sentAt) => {
    const put = await conditional(client.put(putIfAbsent(tableName, record)));
    if (put.kind === 'written') return { kind: 'accepted', record };
    const earlier = put.item && messageRecordOf(record.key, put.item);
    if (earlier !== undefined && isFromEarlierLife(earlier, record, sentAt)) {
      const anew = replacementFor(earlier, record);
      const replaced = await ifConditionHolds(client.put(putInPlaceOf(tableName, earlier, anew)));
      return replaced === undefined ? await accept(record, sentAt) : { kind: 'accepted', record: anew };
    }
    const counted = await ifConditionHolds(client.update(countDuplicate(tableName, record.key)));
    // The record expired between the two requests, so the message counts as new.
    if (counted === undefined) return await accept(record, sentAt);
    return { kind: 'duplicate', record: messageRecordOf(record.key, counted.Attributes) };
  };

  const find = async (key: MessageKey): Promise<MessageRecord | undefined> => {
    const { Item } = await client.get({
      TableName: tableName,
      Key: messageItemKeyOf(key),
      ConsistentRead: true,
    });
    return Item === undefined ? undefined : messageRecordOf(key, Item);
  };

  return {
    accept,
    addPart: async (record, next) => {
      const added = await conditional(client.update(addPart(tableName, record, next)));
      if (added.kind === 'written')
        return { kind: 'added', record: messageRecordOf(record.key, added.output.Attributes) };
      const current = added.item && messageRecordOf(record.key, added.item);
      return { kind: 'refused', current: current?.acceptedAt === record.acceptedAt ? current : undefined };
    },
    find,
    keepBody: async ({ key, acceptedAt }, body, expiresAt) => {
      // Rounded up to whole days, so that the many deliveries of a message do not all update the record for a few
      // milliseconds: a read costs a tenth, and they share one key. An expired record cannot store a body.
      const until = Math.ceil(expiresAt / DAY_MS) * DAY_MS;
      const current = await find(key);
      if (current?.acceptedAt !== acceptedAt) return 'forgotten';
      const isTaken = current.body !== undefined || current.erasedAt !== undefined;
      if (isTaken && current.expiresAt >= until) return keepingOf(current, acceptedAt);
      const kept = { key, acceptedAt, body, expiresAt: Math.max(until, current.expiresAt) };
      const written = await ifConditionHolds(client.update(keep(tableName, kept)));
      // Refused: the record is gone, or a concurrent write stored or erased the body, with a later expiry.
      const found = written === undefined ? await find(key) : messageRecordOf(key, written.Attributes);
      return keepingOf(found, acceptedAt);
    },
    eraseBody: async (key, at) => {
      const erased = await ifConditionHolds(client.update(erase(tableName, key, at)));
      // Refused: the record is gone, or the body was already erased.
      return erased === undefined ? find(key) : messageRecordOf(key, erased.Attributes);
    },
  };
}

function keepingOf(record: MessageRecord | undefined, acceptedAt: number): BodyState {
  if (record?.acceptedAt !== acceptedAt) return 'forgotten';
  return record.erasedAt === undefined ? 'kept' : 'erased';
}

function putIfAbsent(tableName: string, record: MessageRecord) {
  return {
    TableName: tableName,
    Item: messageItemOf(record),
    ConditionExpression: `attribute_not_exists(${primaryKey.partition})`,
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  };
}

function putInPlaceOf(tableName: string, earlier: MessageRecord, record: MessageRecord) {
  return {
    TableName: tableName,
    Item: messageItemOf(record),
    ConditionExpression: 'acceptedAt = :earlier',
    ExpressionAttributeValues: { ':earlier': earlier.acceptedAt },
  };
}

function countDuplicate(tableName: string, key: MessageKey) {
  return {
    TableName: tableName,
    Key: messageItemKeyOf(key),
    UpdateExpression: 'ADD duplicates :one',
    ConditionExpression: `attribute_exists(${primaryKey.partition})`,
    ExpressionAttributeValues: { ':one': 1 },
    ReturnValues: 'ALL_NEW' as const,
  };
}

function addPart(
  tableName: string,
  { key, acceptedAt, parts }: MessageRecord,
  { part, until, matched, filtered, apart }: NextPart,
) {
  const to = expression();
  const sets = [appended(to, 'parts', [partItemOf(part)])];
  if (apart.length > 0) sets.push(appended(to, 'apart', apart));
  if (until !== undefined) sets.push(`${to.name('until')} = ${to.value(until)}`);
  const asRead =
    parts === undefined
      ? `attribute_not_exists(${to.name('parts')})`
      : `size(${to.name('parts')}) = ${to.value(parts.length)}`;
  return {
    TableName: tableName,
    Key: messageItemKeyOf(key),
    UpdateExpression: [
      `SET ${sets.join(', ')}`,
      ...(until === undefined ? [`REMOVE ${to.name('until')}`] : []),
      `ADD ${to.name('matched')} ${to.value(matched)}, ${to.name('filtered')} ${to.value(filtered)}`,
    ].join(' '),
    ConditionExpression: `${to.name('acceptedAt')} = ${to.value(acceptedAt)} AND ${asRead}`,
    ...to.attributes(),
    ReturnValues: 'ALL_NEW' as const,
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  };
}

function appended(to: Expression, name: string, values: readonly unknown[]): string {
  const list = to.name(name);
  return `${list} = list_append(if_not_exists(${list}, ${to.value([])}), ${to.value(values)})`;
}

function keep(tableName: string, kept: AcceptedMessage & { body: BodyLocation; expiresAt: number }) {
  return {
    TableName: tableName,
    Key: messageItemKeyOf(kept.key),
    UpdateExpression: 'SET #body = if_not_exists(#body, :body), #expiresAt = :expiresAt, #ttl = :ttl',
    ConditionExpression: 'acceptedAt = :acceptedAt AND #expiresAt <= :expiresAt',
    ExpressionAttributeNames: { '#body': 'body', '#expiresAt': 'expiresAt', '#ttl': ttlAttribute },
    ExpressionAttributeValues: {
      ':body': bodyItemOf(kept.body),
      ':acceptedAt': kept.acceptedAt,
      ':expiresAt': kept.expiresAt,
      ':ttl': ttlOf(kept.expiresAt),
    },
    ReturnValues: 'ALL_NEW' as const,
  };
}

function erase(tableName: string, key: MessageKey, at: number) {
  return {
    TableName: tableName,
    Key: messageItemKeyOf(key),
    UpdateExpression: 'SET #body = :erased',
    ConditionExpression: `attribute_exists(${primaryKey.partition}) AND attribute_not_exists(#body.#erasedAt)`,
    ExpressionAttributeNames: { '#body': 'body', '#erasedAt': 'erasedAt' },
    ExpressionAttributeValues: { ':erased': erasedBodyItem(at) },
    ReturnValues: 'ALL_NEW' as const,
  };
}
