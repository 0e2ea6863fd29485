import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import type { Pacing } from '../lambda/invocation-deadline.ts';

/** What a write to the subscriptions table needs; the clock paces tries that met another transaction. */
export type RegistryTable = {
  client: DynamoDBDocument;
  tableName: string;
  clock: Pacing;
};
