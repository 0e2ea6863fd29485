import { paginateQuery } from '@aws-sdk/lib-dynamodb';
import type { DynamoDBDocumentClient, QueryCommandInput } from '@aws-sdk/lib-dynamodb';

/** The items of a query, pages followed until `atMost` are found or there are no more. */
export const queriedItems = async (
  client: DynamoDBDocumentClient,
  query: Omit<QueryCommandInput, 'Limit' | 'ExclusiveStartKey'> &
    Pick<QueryCommandInput, 'ExclusiveStartKey'>,
  atMost = Infinity,
): Promise<unknown[]> => {
  const items: unknown[] = [];
  const limit = Number.isFinite(atMost) ? { Limit: atMost } : {};
  for await (const page of paginateQuery({ client }, { ...query, ...limit })) {
    items.push(...(page.Items ?? []));
    if (items.length >= atMost) break;
  }
  return items.slice(0, atMost);
};
