import type { DocumentClient } from '../aws/document-client.ts';
import type { Pacing } from '../lambda/invocation-deadline.ts';

/** What a write to the subscriptions table needs; the clock paces tries that met another transaction. */
export type RegistryTable = {
  client: DocumentClient;
  tableName: string;
  clock: Pacing;
};
