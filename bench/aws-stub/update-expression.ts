import type { DynamoRequest, Item } from './dynamo.ts';

const SET = /#(\w+) = (?:(:v\d+)|list_append\(#\w+, (:v\d+)\))(?:, )?/g;

/** What an update expression of ours makes of an item: values set, one list appended to, attributes removed. */
export const updated = (
  item: Item,
  { UpdateExpression = '', ExpressionAttributeValues = {} }: DynamoRequest,
): Item => {
  const result: Item = { ...item };
  const [sets = '', removals = ''] = UpdateExpression.split(' REMOVE ');
  for (const [, name = '', value, appended] of sets.matchAll(SET)) {
    const given = ExpressionAttributeValues[value ?? appended ?? ''];
    if (given === undefined) throw new Error(`The stub of DynamoDB cannot read ${UpdateExpression}`);
    result[name] = appended === undefined ? given : { L: [...(result[name]?.L ?? []), ...(given.L ?? [])] };
  }
  const removed = new Set(removals.split(', ').map((name) => name.slice(1)));
  return Object.fromEntries(Object.entries(result).filter(([name]) => !removed.has(name)));
};
