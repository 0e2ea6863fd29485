import * as z from 'zod';

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

export const isWindow = ({
  since = -Infinity,
  until = Infinity,
}: {
  since?: number;
  until?: number;
}): boolean => since < until;

/** For a schema whose window is none. */
export const NO_WINDOW = { path: ['until'], error: 'must be after since' };
