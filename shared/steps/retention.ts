import type { WriteTime } from '../domain/delivery/delivery.ts';
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

/** How long a body kept now has to last: it outlives every retry that could need it. */
export function keptUntil(now: number, settings: { retentionMs: number; retryAfterCapMs: number }): number {
  return now + longestScheduleMs(settings.retryAfterCapMs) + settings.retentionMs;
}
