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
