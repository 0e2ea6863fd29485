import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Clock } from '../ports/clock.ts';

/** What a write to the subscriptions table needs; the clock paces tries that met another transaction. */
export type RegistryTable = {
  client: DynamoDBDocumentClient;
  tableName: string;
  clock: Pick<Clock, 'sleep'>;
};
