import type { AttributeValue } from '@aws-sdk/client-dynamodb';

type Item = Record<string, AttributeValue>;

type UpdateRequest = {
  UpdateExpression: string;
  ExpressionAttributeNames: Readonly<Record<string, string>>;
  ExpressionAttributeValues: Item;
};

const SET = /#([\w.#]+) = (:\w+|list_append\(#\w+, :\w+\))/g;

/** The item after an update: values set, at the top or one level below, one list appended to, attributes removed. */
export function updated(before: Item, request: UpdateRequest): Item {
  const { ExpressionAttributeNames: names, ExpressionAttributeValues: values } = request;
  const [sets = '', removals = ''] = request.UpdateExpression.split(' REMOVE ');
  const attributeOf = (reference: string): string => names[`#${reference}`] ?? reference;
  const result = { ...before };
  for (const [, path = '', operand = ''] of sets.matchAll(SET)) {
    const [name = '', below] = path.split('.#').map(attributeOf);
    const value = valueOf(operand, before[name], values);
    result[name] = below === undefined ? value : withMember(before[name], below, value);
  }
  const removed = new Set(removals.split(', ').map((name) => attributeOf(name.slice(1))));
  return Object.fromEntries(Object.entries(result).filter(([name]) => !removed.has(name)));
}

function withMember(before: AttributeValue | undefined, name: string, value: AttributeValue): AttributeValue {
  return { M: { ...before?.M, [name]: value } };
}

function valueOf(operand: string, before: AttributeValue | undefined, values: Item): AttributeValue {
  const value = values[/:\w+/.exec(operand)?.[0] ?? ''];
  if (value === undefined) throw new Error(`The stub of DynamoDB cannot read ${operand}.`);
  return operand.startsWith('list_append') ? { L: [...(before?.L ?? []), ...(value.L ?? [])] } : value;
}
