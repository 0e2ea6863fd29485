import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';

/** An item as DynamoDB answers with it, read as plain values. What is in it is for the reader of the record to judge. */
export const itemSchema = z
  .custom<Record<string, AttributeValue>>((value) => typeof value === 'object' && value !== null)
  .transform((item): Record<string, unknown> => unmarshall(item));

/** Plain values as DynamoDB takes them. */
export function attributesOf(values: Record<string, unknown>): Record<string, AttributeValue> {
  return marshall(values, { removeUndefinedValues: true });
}

/** The parts of a request that hold values; the others are texts and numbers for DynamoDB itself. */
const VALUED = ['Key', 'Item', 'ExpressionAttributeValues', 'ExclusiveStartKey'] as const;

type Request = Readonly<Partial<Record<(typeof VALUED)[number], Record<string, unknown> | undefined>>>;

/** A request on one table with its values as DynamoDB takes them. */
export function wireOf(request: Request): object {
  const wire: Record<string, unknown> = { ...request };
  for (const part of VALUED) {
    const values = request[part];
    if (values !== undefined) wire[part] = attributesOf(values);
  }
  return wire;
}
