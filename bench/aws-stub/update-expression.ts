import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { DynamoRequest, Item } from './dynamo-request.ts';

const SET = /#(\w+) = (:v\d+|list_append\(#\w+, :v\d+\))/g;

/** What an update expression of ours makes of an item: values set, one list appended to, attributes removed. */
export const updated = (
  item: Item,
  { UpdateExpression = '', ExpressionAttributeValues = {} }: DynamoRequest,
): Item => {
  const [sets = '', removals = ''] = UpdateExpression.split(' REMOVE ');
  const result: Item = { ...item };
  for (const [, name = '', operand = ''] of sets.matchAll(SET))
    result[name] = valueOf(operand, result[name], ExpressionAttributeValues);
  const removed = new Set(removals.split(', ').map((name) => name.slice(1)));
  return Object.fromEntries(Object.entries(result).filter(([name]) => !removed.has(name)));
};

const valueOf = (operand: string, before: AttributeValue | undefined, values: Item): AttributeValue => {
  const given = values[/:v\d+/.exec(operand)?.[0] ?? ''];
  if (given === undefined) throw new Error(`The stub of DynamoDB cannot read ${operand}.`);
  return operand.startsWith('list_append') ? { L: [...(before?.L ?? []), ...(given.L ?? [])] } : given;
};
