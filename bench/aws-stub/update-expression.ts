import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { DynamoRequest, Item } from './dynamo-request.ts';

const SET = /#([\w.#]+) = (:v\d+|list_append\(#\w+, :v\d+\))/g;

/** What an update expression of ours makes of an item: values set, at the top or one below, one list appended to, attributes removed. */
export const updated = (item: Item, request: DynamoRequest): Item => {
  const [sets = '', removals = ''] = (request.UpdateExpression ?? '').split(' REMOVE ');
  const result: Item = { ...item };
  for (const [, path = '', operand = ''] of sets.matchAll(SET)) assign(result, path, operand, request);
  const removed = new Set(removals.split(', ').map((name) => nameOf(name.slice(1), request)));
  return Object.fromEntries(Object.entries(result).filter(([name]) => !removed.has(name)));
};

const assign = (item: Item, path: string, operand: string, request: DynamoRequest): void => {
  const [name = '', below] = path.split('.#').map((reference) => nameOf(reference, request));
  const before = item[name];
  const values = request.ExpressionAttributeValues ?? {};
  item[name] =
    below === undefined
      ? valueOf(operand, before, values)
      : { M: { ...before?.M, [below]: valueOf(operand, undefined, values) } };
};

const nameOf = (reference: string, { ExpressionAttributeNames }: DynamoRequest): string =>
  ExpressionAttributeNames?.[`#${reference}`] ?? reference;

const valueOf = (operand: string, before: AttributeValue | undefined, values: Item): AttributeValue => {
  const given = values[/:v\d+/.exec(operand)?.[0] ?? ''];
  if (given === undefined) throw new Error(`The stub of DynamoDB cannot read ${operand}.`);
  return operand.startsWith('list_append') ? { L: [...(before?.L ?? []), ...(given.L ?? [])] } : given;
};
