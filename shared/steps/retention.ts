import type { WriteTime } from '../domain/delivery/delivery.ts';
import { DAY_MS } from '../domain/duration.ts';
import { longestScheduleMs } from '../domain/retry/policy-limits.ts';
import type { Clock } from '../ports/clock.ts';

/** Now, and how long a record lives that is written now. */
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
 * How much longer the record of a message lives than those of its deliveries. These may be made four days later, as long as
 * SQS keeps a job, and removed some days late (DynamoDB developer guide, "Using time to live"). Without its record the id
 * would be taken for new beside them, and the new message for delivered.
 */
const OUTLIVES_DELIVERIES_MS = 7 * DAY_MS;

/** How long the record of a message lives whose body is not kept. */
export function recordedUntil(acceptedAt: number, { retentionMs }: { retentionMs: number }): number {
  return acceptedAt + retentionMs + OUTLIVES_DELIVERIES_MS;
}

/** How long a body kept now has to last: it outlives every retry that could need it. */
export function keptUntil(now: number, settings: { retentionMs: number; retryAfterCapMs: number }): number {
  return now + longestScheduleMs(settings.retryAfterCapMs) + settings.retentionMs;
}
