import type { DynamoDBDocument, QueryCommandInput } from '@aws-sdk/lib-dynamodb';

type Item = Record<string, unknown>;

/** The pages of a query, one request each, read as they are asked for. */
export async function* pagesOf(client: DynamoDBDocument, query: QueryCommandInput): AsyncGenerator<Item[]> {
  let ExclusiveStartKey = query.ExclusiveStartKey;
  do {
    const { Items = [], LastEvaluatedKey } = await client.query({ ...query, ExclusiveStartKey });
    yield Items;
    ExclusiveStartKey = LastEvaluatedKey;
  } while (ExclusiveStartKey !== undefined);
}

/** The items of a query, pages followed until `atMost` are found or there are no more. */
export async function queriedItems(
  client: DynamoDBDocument,
  query: Omit<QueryCommandInput, 'Limit'>,
  atMost = Infinity,
): Promise<Item[]> {
  const items: Item[] = [];
  const limit = Number.isFinite(atMost) ? { Limit: atMost } : {};
  for await (const page of pagesOf(client, { ...query, ...limit })) {
    items.push(...page);
    if (items.length >= atMost) break;
  }
  return items.slice(0, atMost);
}
