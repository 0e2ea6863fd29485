import type * as z from 'zod';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { getStatistics } from '../../../api-client/operations.ts';
import { ApiRefusal } from '../../../api-client/refusal.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import type { statisticsViewSchema } from '../../../shared/wire/views/statistics.ts';

/** Counts and durations of a queue. `points` leaves out steps in which nothing happened. */
export type Statistics = z.infer<typeof statisticsViewSchema>;
export type Counts = Omit<Statistics['points'][number], 'at'>;
export type Percentiles = NonNullable<Counts['response']>;

/** The windows to choose from. */
export const WINDOWS = {
  hour: { text: 'last hour', lengthMs: 3_600_000, stepSeconds: 60, step: 'minute' },
  day: { text: 'last 24 hours', lengthMs: 86_400_000, stepSeconds: 900, step: '15 minutes' },
  week: { text: 'last 7 days', lengthMs: 604_800_000, stepSeconds: 3_600, step: 'hour' },
} as const;

export type WindowName = keyof typeof WINDOWS;

export const WINDOW_NAMES = ['hour', 'day', 'week'] as const satisfies readonly WindowName[];

/** The steps of a window up to now; the last one is still being counted. Null: the deployment counts nothing. */
export async function readStatistics(
  api: ApiClient,
  queue: string,
  { window, now, signal }: { window: WindowName; now: number; signal: AbortSignal },
): Promise<Statistics | null> {
  const { lengthMs, stepSeconds } = WINDOWS[window];
  const query = { since: timeText(now - lengthMs), step: stepSeconds };
  try {
    const statistics = await api.call(getStatistics, { path: { queue }, query, signal });
    return statistics.enabled ? statistics : null;
  } catch (error) {
    // An earlier version of Posthaste, which does not have the route.
    if (error instanceof ApiRefusal && error.status === 404) return null;
    throw error;
  }
}
