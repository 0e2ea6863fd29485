import type { WriteTime } from '../domain/delivery/delivery.ts';
import { DAY_MS } from '../domain/duration.ts';
import { longestScheduleMs } from '../domain/retry/policy-limits.ts';
import type { Clock } from '../ports/clock.ts';

/** The time of a write and the retention of its record. */
export function writeTime({
  ports,
  settings,
}: {
  ports: { clock: Pick<Clock, 'now'> };
  settings: { retentionMs: number };
}): WriteTime {
  return { now: ports.clock.now(), retentionMs: settings.retentionMs };
}

/**
 * Extra retention of a message's record beyond its deliveries' records. Deliveries may be created four days later
 * (SQS retention of a job) and removed some days late (DynamoDB developer guide, "Using time to live"). Without the
 * message's record, a new message with the id would be taken for delivered.
 */
const MESSAGE_RECORD_EXTRA_MS = 7 * DAY_MS;

/** Expiry of the record of a message whose body is not kept. */
export function recordedUntil(acceptedAt: number, { retentionMs }: { retentionMs: number }): number {
  return acceptedAt + retentionMs + MESSAGE_RECORD_EXTRA_MS;
}

/** Expiry of a body kept now: it outlives every retry that could need it. */
export function keptUntil(now: number, settings: { retentionMs: number; retryAfterCapMs: number }): number {
  return now + longestScheduleMs(settings.retryAfterCapMs) + settings.retentionMs;
}
