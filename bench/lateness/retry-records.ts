import { paginateScan, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { deliveryOf } from '../../shared/adapters/dynamodb/delivery-item.ts';
import { deliveryPrefix } from '../../shared/adapters/dynamodb/delivery-keys.ts';
import { primaryKey } from '../../shared/config/tables.ts';
import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';

/** Items. The local AWS does nothing else while it puts a page together. */
const PAGE = 200;

/** Of deliveries that ended with their first retry: that, by the message's id. All others are left out. */
export const deliveredRetries = async (
  client: DynamoDBDocumentClient,
  table: string,
): Promise<ReadonlyMap<string, Attempt>> => {
  const found = new Map<string, Attempt>();
  const scan = {
    TableName: table,
    Limit: PAGE,
    FilterExpression: 'begins_with(#sort, :delivery)',
    ExpressionAttributeNames: { '#sort': primaryKey.sort },
    ExpressionAttributeValues: { ':delivery': deliveryPrefix },
  };
  for await (const { Items = [] } of paginateScan({ client }, scan)) {
    for (const delivery of Items.map(deliveryOf)) {
      const retry = retryOf(delivery);
      if (retry !== undefined) found.set(delivery.key.messageId, retry);
    }
  }
  return found;
};

/** Undefined: it took other than one failure and one success. */
export const retryOf = ({ status, attempts }: Delivery): Attempt | undefined => {
  const [, retry, ...rest] = attempts;
  return status === 'delivered' && rest.length === 0 ? retry : undefined;
};
