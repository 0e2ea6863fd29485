import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import * as z from 'zod';
import { deliveryIndexes, primaryKey } from '../../shared/config/tables.ts';

type Item = Record<string, AttributeValue>;

const request = z.object({
  Key: z.custom<Item>().default({}),
  UpdateExpression: z.string().default(''),
  ExpressionAttributeNames: z.record(z.string(), z.string()).default({}),
  ExpressionAttributeValues: z.custom<Item>().default({}),
  ExclusiveStartKey: z.custom<Item>().default({}),
  Limit: z.number().default(Infinity),
});

type Asked = z.output<typeof request>;

/** Items by the partitions of the tables and of the index by hour, whose names differ. Each is filled in order. */
export class Tables {
  readonly #partitions = new Map<string, { sort: string; item: Item }[]>();

  put(item: Item): void {
    for (const { partition, sort } of [primaryKey, deliveryIndexes.byHour]) {
      const name = item[partition]?.S ?? '';
      const entries = this.#partitions.get(name) ?? [];
      entries.push({ sort: item[sort]?.S ?? '', item });
      this.#partitions.set(name, entries);
    }
  }

  answer(operation: string, body: string): object {
    const asked = request.parse(JSON.parse(body));
    if (operation === 'UpdateItem') return this.#add(asked);
    const entries = this.#partitions.get(partitionOf(asked)) ?? [];
    if (operation === 'GetItem')
      return { Item: entries.find(({ sort }) => sort === asked.Key['sk']?.S)?.item };
    const after = asked.ExclusiveStartKey[deliveryIndexes.byHour.sort]?.S ?? '';
    const isWanted = conditionOf(asked);
    const found = entries.filter(({ sort }) => sort > after && isWanted(sort)).map(({ item }) => item);
    const last = found.length > asked.Limit ? { LastEvaluatedKey: found[asked.Limit - 1] } : {};
    return { Items: found.slice(0, asked.Limit), ...last };
  }

  #add({
    Key,
    UpdateExpression,
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: values,
  }: Asked): object {
    const item = { ...Key };
    for (const [, name = '', value = ''] of UpdateExpression.matchAll(/(#\w+) (?:= )?(:\w+)/g))
      item[names[name] ?? ''] = values[value] ?? { NULL: true };
    this.put(item);
    return {};
  }
}

function partitionOf({ Key, ExpressionAttributeValues: values }: Asked): string {
  return (Key['pk'] ?? values[':partition'])?.S ?? '';
}

function conditionOf({ ExpressionAttributeValues: values }: Asked): (sort: string) => boolean {
  const [first = '', last = '\uffff', prefix = ''] = [':first', ':last', ':prefix'].map(
    (name) => values[name]?.S,
  );
  return (sort) => sort >= first && sort <= last && sort.startsWith(prefix);
}
