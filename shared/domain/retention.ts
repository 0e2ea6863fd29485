import { DAY_MS } from './duration.ts';

/** Bounds of a retention in days. Records must outlive messages, which SQS keeps for up to 14 days. */
export const RETENTION_DAYS = { least: 15, most: 3650 };

/**
 * A record of a queue that keeps less than the deployment (`_retention_days`). Decided when its message is accepted, so
 * that later writes need not read the queue. Absent: as the deployment.
 */
export type Retained = { retentionDays?: number | undefined };

/** How long a record stays after its last event: never longer than the deployment keeps records. Milliseconds. */
export function computeRetention(
  { retentionDays = Infinity }: Retained,
  { retentionMs }: { retentionMs: number },
): number {
  return Math.min(retentionMs, retentionDays * DAY_MS);
}

/** What new records store if their queue keeps them for so many days. */
export function retainedFor(
  days: number | undefined,
  { retentionMs }: { retentionMs: number },
): { retentionDays?: number } {
  return days === undefined || days * DAY_MS >= retentionMs ? {} : { retentionDays: days };
}
