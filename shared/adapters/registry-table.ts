import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Pacing } from './invocation-deadline.ts';

/** What a write to the subscriptions table needs; the clock paces tries that met another transaction. */
export type RegistryTable = {
  client: DynamoDBDocumentClient;
  tableName: string;
  clock: Pacing;
};
