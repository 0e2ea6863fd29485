import * as z from 'zod';
import { DAY_MS } from '../../shared/domain/duration.ts';
import { invalidFields } from './errors.ts';

/** Every hour of a window is looked at, whether there is something in it or not. */
const MOST_DAYS = 400;

const TIME_RULE = 'must be an RFC 3339 time, such as 2026-11-21T12:00:00Z';

/** RFC 3339, with any offset; milliseconds since the epoch once it is parsed. */
export const timeField = z
  .string(TIME_RULE)
  .toUpperCase()
  .pipe(z.iso.datetime({ offset: true, error: TIME_RULE, abort: true }))
  .transform((text) => Date.parse(text))
  .meta({ override: { format: 'date-time' } });

/** `since` is in the window, `until` is not. By when messages were accepted. */
export const windowFields = { since: timeField.exactOptional(), until: timeField.exactOptional() };

export function isWindow({
  since = -Infinity,
  until = Infinity,
}: {
  since?: number;
  until?: number;
}): boolean {
  return since < until;
}

/** For a schema whose window is none. */
export const NO_WINDOW = { path: ['until'], error: 'must be after since' };

/**
 * Of the last 24 hours, unless it says otherwise.
 * @throws RefusedRequest naming `since`, for a window that ends before it begins, or has no end.
 */
export function windowOf(
  asked: { since?: number; until?: number },
  now: number,
): { since: number; until: number } {
  const until = asked.until ?? now;
  const since = asked.since ?? until - DAY_MS;
  if (since >= until) throw invalidFields([{ field: 'since', message: 'must be in the past' }]);
  if (until - since > MOST_DAYS * DAY_MS) {
    throw invalidFields([{ field: 'since', message: `must be at most ${MOST_DAYS} days before until` }]);
  }
  return { since, until };
}
