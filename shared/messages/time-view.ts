import * as z from 'zod';

/** RFC 3339 in UTC with milliseconds, as everything that we show says its times. */
export const timeView = z.iso.datetime({ precision: 3 });

export const timeText = (milliseconds: number): string => new Date(milliseconds).toISOString();
