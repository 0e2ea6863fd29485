import type { Moment } from '../domain/delivery/entry.ts';
import type { Clock } from '../ports/clock.ts';

/** When a transition is made, and how long its record is kept from then on. */
export function momentOf({
  ports,
  settings,
}: {
  ports: { clock: Pick<Clock, 'now'> };
  settings: { retentionMs: number };
}): Moment {
  return { now: ports.clock.now(), retentionMs: settings.retentionMs };
}
