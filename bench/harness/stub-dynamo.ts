import type { AttributeValue } from '@aws-sdk/client-dynamodb';

/** As it stands on the wire. */
export type Item = Record<string, AttributeValue>;

export type DynamoRequest = {
  IndexName?: string;
  Key?: Item;
  Item?: Item;
  UpdateExpression?: string;
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: Item;
};

export function isChunk({ sk }: Item): boolean {
  return sk?.S?.startsWith('CHUNK#') === true;
}

/**
 * Tables as the path of success needs them: conditions always hold, and indexes are empty, because nothing is overdue or
 * retries. A record is forgotten once it is delivered, or all of a chunk is, so that the stub does not grow.
 */
export function dynamoStub() {
  const lists = new Map<string, readonly Item[]>();
  const subscriptions = new Map<string, Item>();
  const deliveries = new Map<string, Item>();

  const listed = ({ IndexName, ExpressionAttributeValues = {} }: DynamoRequest): readonly Item[] =>
    IndexName === undefined ? (lists.get(ExpressionAttributeValues[':queue']?.S ?? '') ?? []) : [];

  const put = (item: Item): void => {
    if (item['sk']?.S?.startsWith('DELIVERY#')) deliveries.set(nameOf(item), item);
  };

  const update = (request: DynamoRequest): object => {
    const { Key = {} } = request;
    const name = nameOf(Key);
    const Attributes = updated(deliveries.get(name) ?? subscriptions.get(name) ?? Key, request);
    if (isOver(Attributes)) deliveries.delete(name);
    else if (deliveries.has(name) || isChunk(Attributes)) deliveries.set(name, Attributes);
    return { Attributes };
  };

  return {
    /** The queue's own item first, then its subscriptions: fewer than a page of a Query has. */
    addQueue: (items: readonly Item[]): void => {
      for (const item of items) subscriptions.set(nameOf(item), item);
      lists.set(items[0]?.['pk']?.S ?? '', items);
    },
    answer: (operation: string, request: DynamoRequest): object => {
      switch (operation) {
        case 'GetItem':
          return { Item: subscriptions.get(nameOf(request.Key ?? {})) };
        case 'Query':
          return { Items: listed(request) };
        case 'PutItem':
          put(request.Item ?? {});
          return {};
        case 'UpdateItem':
          return update(request);
        default:
          throw new Error(`The stub of DynamoDB knows no ${operation}.`);
      }
    },
  };
}

function nameOf({ pk, sk }: Item): string {
  return `${pk?.S ?? ''} ${sk?.S ?? ''}`;
}

function isOver(item: Item): boolean {
  return isChunk(item) ? item['lease'] === undefined : item['status']?.S === 'delivered';
}

const SET = /#([\w.#]+) = (:\w+|list_append\(#\w+, :\w+\))/g;

/** What an update expression makes of an item: values set, at the top or one below, one list appended to, attributes removed. */
export function updated(item: Item, request: DynamoRequest): Item {
  const [sets = '', removals = ''] = (request.UpdateExpression ?? '').split(' REMOVE ');
  const result: Item = { ...item };
  for (const [, path = '', operand = ''] of sets.matchAll(SET)) assign(result, path, operand, request);
  const removed = new Set(removals.split(', ').map((name) => attributeOf(name.slice(1), request)));
  return Object.fromEntries(Object.entries(result).filter(([name]) => !removed.has(name)));
}

function assign(item: Item, path: string, operand: string, request: DynamoRequest): void {
  const [name = '', below] = path.split('.#').map((reference) => attributeOf(reference, request));
  const before = item[name];
  const values = request.ExpressionAttributeValues ?? {};
  item[name] =
    below === undefined
      ? valueOf(operand, before, values)
      : { M: { ...before?.M, [below]: valueOf(operand, undefined, values) } };
}

function valueOf(operand: string, before: AttributeValue | undefined, values: Item): AttributeValue {
  const given = values[/:\w+/.exec(operand)?.[0] ?? ''];
  if (given === undefined) throw new Error(`The stub of DynamoDB cannot read ${operand}.`);
  return operand.startsWith('list_append') ? { L: [...(before?.L ?? []), ...(given.L ?? [])] } : given;
}

function attributeOf(reference: string, { ExpressionAttributeNames }: DynamoRequest): string {
  return ExpressionAttributeNames?.[`#${reference}`] ?? reference;
}
