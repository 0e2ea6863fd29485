import { randomUUID } from 'node:crypto';
import { type DynamoDBDocumentClient, TransactWriteCommand } from '@aws-sdk/lib-dynamodb';

export type Order = { id: string; customer: string; total: number };

const KEPT_SECONDS = 7 * 86_400;

/**
 * Writes the order and the message about it in one transaction: both are there, or neither.
 * @param table with the partition key `pk`, a stream of new images, and a time to live in `expiresAt`
 */
export async function placeOrder(dynamo: DynamoDBDocumentClient, table: string, order: Order): Promise<void> {
  const outboxRow = {
    pk: `outbox#${randomUUID()}`,
    queue: 'orders',
    type: 'order.placed',
    data: order,
    // The stream has the row already, so nothing else removes it.
    expiresAt: Math.floor(Date.now() / 1000) + KEPT_SECONDS,
  };
  await dynamo.send(
    new TransactWriteCommand({
      TransactItems: [
        {
          Put: {
            TableName: table,
            Item: { pk: `order#${order.id}`, ...order },
            ConditionExpression: 'attribute_not_exists(pk)',
          },
        },
        { Put: { TableName: table, Item: outboxRow } },
      ],
    }),
  );
}
