import type { WriteTime } from '../domain/delivery/delivery.ts';
import { DAY_MS } from '../domain/duration.ts';
import { computeRetention, type Retained } from '../domain/retention.ts';
import { longestScheduleMs } from '../domain/retry/policy-schema.ts';
import type { Clock } from '../ports/clock.ts';

type RetentionContext = { ports: { clock: Pick<Clock, 'now'> }; settings: { retentionMs: number } };

/** The time of a write to this record or of this job's, and the retention of the record. */
export function writeTime({ ports, settings }: RetentionContext, of: Retained): WriteTime {
  return { now: ports.clock.now(), retentionMs: computeRetention(of, settings) };
}

/**
 * Extra retention of a message's record beyond its deliveries' records. Deliveries may be created four days later
 * (SQS retention of a job) and removed some days late (DynamoDB developer guide, "Using time to live"). Without the
 * message's record, a new message with the id would be taken for delivered.
 */
const MESSAGE_RECORD_EXTRA_MS = 7 * DAY_MS;

/** Expiry of the record of a message whose body is not kept. */
export function recordedUntil(acceptedAt: number, settings: { retentionMs: number }, of: Retained): number {
  return acceptedAt + computeRetention(of, settings) + MESSAGE_RECORD_EXTRA_MS;
}

export type BodyRetention = { retentionMs: number; retryAfterCapMs: number };

/** How long a body is kept from now on: it outlives every retry by the policy. Milliseconds. */
export function bodyRetentionMs({ retryAfterCapMs, retentionMs }: BodyRetention, of: Retained): number {
  return longestScheduleMs(retryAfterCapMs) + computeRetention(of, { retentionMs });
}
