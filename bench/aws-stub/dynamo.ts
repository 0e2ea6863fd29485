import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { updated } from './update-expression.ts';

/** As it stands on the wire. */
export type Item = Record<string, AttributeValue>;

export type DynamoRequest = {
  Key?: Item;
  Item?: Item;
  UpdateExpression?: string;
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: Item;
  ExclusiveStartKey?: Item;
};

/** Items of a page of a Query, which ends at 1 MB (DynamoDB API reference, Query); ours have some 600 bytes. */
const PAGE = 1_500;

const nameOf = ({ pk, sk }: Item): string => `${pk?.S ?? ''} ${sk?.S ?? ''}`;

/**
 * Tables as the path of success needs them: conditions always hold. A record is forgotten once an attempt is on it, so that
 * the stub does not grow.
 */
export const dynamoStub = () => {
  const subscriptions = new Map<string, Item>();
  const lists = new Map<string, Item[]>();
  const deliveries = new Map<string, Item>();

  const page = ({ ExpressionAttributeValues = {}, ExclusiveStartKey }: DynamoRequest): object => {
    const all = lists.get(ExpressionAttributeValues[':queue']?.S ?? '') ?? [];
    const last = ExclusiveStartKey === undefined ? undefined : nameOf(ExclusiveStartKey);
    const from = last === undefined ? 0 : all.findIndex((item) => nameOf(item) === last) + 1;
    const Items = all.slice(from, from + PAGE);
    const end = Items.at(-1);
    const isLast = from + PAGE >= all.length || end === undefined;
    return {
      Items,
      Count: Items.length,
      ...(isLast ? {} : { LastEvaluatedKey: { pk: end['pk'], sk: end['sk'] } }),
    };
  };

  const update = (request: DynamoRequest): object => {
    const name = nameOf(request.Key ?? {});
    const Attributes = updated(deliveries.get(name) ?? request.Key ?? {}, request);
    deliveries.delete(name);
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
        case 'GetItem': {
          const Item = subscriptions.get(nameOf(request.Key ?? {}));
          return Item === undefined ? {} : { Item };
        }
        case 'Query':
          return page(request);
        case 'PutItem':
          if (request.Item?.['sk']?.S?.startsWith('DELIVERY#'))
            deliveries.set(nameOf(request.Item), request.Item);
          return {};
        case 'UpdateItem':
          return update(request);
        default:
          throw new Error(`The stub of DynamoDB knows no ${operation}.`);
      }
    },
  };
};
