import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import type { Pacing } from '../lambda/invocation-deadline.ts';

/** What a write to the subscriptions table needs; the clock paces tries that met another transaction. */
export type RegistryTable = {
  client: DynamoDBDocument;
  tableName: string;
  clock: Pacing;
};

const FIRST_PAUSE_MS = 5;

/** How often, and how long after another, a change is tried that others come before. */
export function pausesOf({ clock }: RegistryTable) {
  return { tries: 8, pause: (tried: number) => clock.sleep(Math.random() * FIRST_PAUSE_MS * 2 ** tried) };
}
