import type { DynamoRequest, Item } from './dynamo-request.ts';
import { updated } from './update-expression.ts';

/** Items of a page of a Query, which ends at 1 MB (DynamoDB API reference, Query); ours have some 600 bytes. */
const PAGE = 1_500;

export const isChunk = ({ sk }: Item): boolean => sk?.S?.startsWith('CHUNK#') === true;

const isOver = (item: Item): boolean =>
  isChunk(item) ? item['lease'] === undefined : item['status']?.S === 'delivered';

const nameOf = ({ pk, sk }: Item): string => `${pk?.S ?? ''} ${sk?.S ?? ''}`;

/**
 * Tables as the path of success needs them: conditions always hold. A record is forgotten once it is delivered, or all of
 * a chunk is, so that the stub does not grow.
 */
export const dynamoStub = () => {
  const subscriptions = new Map<string, Item>();
  const lists = new Map<string, Item[]>();
  const deliveries = new Map<string, Item>();

  const get = ({ Key = {} }: DynamoRequest): object => {
    const Item = subscriptions.get(nameOf(Key));
    return Item === undefined ? {} : { Item };
  };

  const put = ({ Item = {} }: DynamoRequest): object => {
    if (Item['sk']?.S?.startsWith('DELIVERY#')) deliveries.set(nameOf(Item), Item);
    return {};
  };

  const page = ({ ExpressionAttributeValues = {}, ExclusiveStartKey = {} }: DynamoRequest): object => {
    const all = lists.get(ExpressionAttributeValues[':queue']?.S ?? '') ?? [];
    // No key is found nowhere, which is one before the first.
    const from = all.findIndex((item) => nameOf(item) === nameOf(ExclusiveStartKey)) + 1;
    const Items = all.slice(from, from + PAGE);
    const { pk, sk } = Items.at(-1) ?? {};
    return from + PAGE < all.length ? { Items, LastEvaluatedKey: { pk, sk } } : { Items };
  };

  const update = (request: DynamoRequest): object => {
    const name = nameOf(request.Key ?? {});
    const Attributes: Item = updated(
      deliveries.get(name) ?? subscriptions.get(name) ?? request.Key ?? {},
      request,
    );
    if (isOver(Attributes)) deliveries.delete(name);
    else if (deliveries.has(name) || isChunk(Attributes)) deliveries.set(name, Attributes);
    return { Attributes };
  };

  return {
    /** The queue's own item first, then its subscriptions. */
    addQueue: (items: readonly Item[]): void => {
      for (const item of items) subscriptions.set(nameOf(item), item);
      lists.set(items[0]?.['pk']?.S ?? '', [...items]);
    },
    answer: (operation: string, request: DynamoRequest): object => {
      switch (operation) {
        case 'GetItem':
          return get(request);
        case 'Query':
          return page(request);
        case 'PutItem':
          return put(request);
        case 'UpdateItem':
          return update(request);
        default:
          throw new Error(`The stub of DynamoDB knows no ${operation}.`);
      }
    },
  };
};
