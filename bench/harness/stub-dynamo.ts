import type { AttributeValue } from '@aws-sdk/client-dynamodb';

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

const SET = /#([\w.#]+) = (:v\d+|list_append\(#\w+, :v\d+\))/g;

/** What an update expression of ours makes of an item: values set, at the top or one below, one list appended to, attributes removed. */
export const updated = (item: Item, request: DynamoRequest): Item => {
  const [sets = '', removals = ''] = (request.UpdateExpression ?? '').split(' REMOVE ');
  const result: Item = { ...item };
  for (const [, path = '', operand = ''] of sets.matchAll(SET)) assign(result, path, operand, request);
  const removed = new Set(removals.split(', ').map((name) => attributeOf(name.slice(1), request)));
  return Object.fromEntries(Object.entries(result).filter(([name]) => !removed.has(name)));
};

const assign = (item: Item, path: string, operand: string, request: DynamoRequest): void => {
  const [name = '', below] = path.split('.#').map((reference) => attributeOf(reference, request));
  const before = item[name];
  const values = request.ExpressionAttributeValues ?? {};
  item[name] =
    below === undefined
      ? valueOf(operand, before, values)
      : { M: { ...before?.M, [below]: valueOf(operand, undefined, values) } };
};

const attributeOf = (reference: string, { ExpressionAttributeNames }: DynamoRequest): string =>
  ExpressionAttributeNames?.[`#${reference}`] ?? reference;

const valueOf = (operand: string, before: AttributeValue | undefined, values: Item): AttributeValue => {
  const given = values[/:v\d+/.exec(operand)?.[0] ?? ''];
  if (given === undefined) throw new Error(`The stub of DynamoDB cannot read ${operand}.`);
  return operand.startsWith('list_append') ? { L: [...(before?.L ?? []), ...(given.L ?? [])] } : given;
};
