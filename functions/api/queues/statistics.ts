import * as z from 'zod';
import {
  addTo,
  noCounters,
  type RunningCounters,
  STATISTICS_STEPS,
} from '../../../shared/domain/delivery/statistics.ts';
import { DAY_MS, MINUTE_MS } from '../../../shared/domain/duration.ts';
import type { MessageWindow } from '../../../shared/ports/messages.ts';
import type { QueueStatistics } from '../../../shared/ports/statistics.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import { statisticsViewSchema, toCountersView } from '../../../shared/wire/views/statistics.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { invalidFields } from '../errors.ts';
import { completeWindow, windowed, windowFields } from '../fields.ts';
import { type AddRoute, json, jsonAnswer } from '../route.ts';
import { presentQueue } from '../existing.ts';

const MAX_POINTS = 400;

/** The minutes of a busy queue are about 0.5 MB a day, all of which are read. A week, from any hour. */
const MAX_DAYS = 8;

export function addStatisticsRoute(addRoute: AddRoute, dependencies: ApiDependencies): void {
  addRoute({
    key: 'GET /v2/queues/{queue}/statistics',
    id: 'readStatistics',
    summary: 'Counts and durations of a queue over time, for charts',
    description: `Counted about as it happens, by best effort; the reconciliation report counts exactly. The window is widened to whole steps; at most ${MAX_POINTS} steps and ${MAX_DAYS} days. Percentiles are within 12 %.`,
    query: statisticsQuery,
    answers: { 200: json('The steps of the window, and its total.', statisticsViewSchema) },
    handle: async ({ params, query: { step, ...asked } }) => {
      const { name: queue, createdAt } = await presentQueue(dependencies, params.queue);
      const { stepMs, ...window } = inSteps(completeWindow(asked, dependencies.clock.now()), step);
      const { queueStatistics: enabled } = dependencies.settings;
      // Counters are those of a name: an earlier queue's end with the minute in which this one was made.
      const since = Math.max(window.since, Math.floor(createdAt / MINUTE_MS) * MINUTE_MS);
      const isCounted = enabled && since < window.until;
      const steps = isCounted
        ? await countersByStep(dependencies.statistics, { ...window, queue, since }, stepMs)
        : new Map<number, RunningCounters>();
      const total = noCounters();
      for (const counters of steps.values()) addTo(total, counters);
      return jsonAnswer({
        queue,
        enabled,
        since: timeText(window.since),
        until: timeText(window.until),
        stepSeconds: stepMs / 1000,
        points: [...steps].map(([at, counters]) => ({ at: timeText(at), ...toCountersView(counters) })),
        total: toCountersView(total),
      } satisfies z.input<typeof statisticsViewSchema>);
    },
  });
}

const STEP_RULE = `must be one of ${STATISTICS_STEPS.join(', ')}`;

const statisticsQuery = windowed(
  z.strictObject({
    ...windowFields,
    step: z
      .string()
      .transform(Number)
      .pipe(z.literal(STATISTICS_STEPS, STEP_RULE))
      .meta({
        description: `Seconds of a step. By default the smallest that divides the window into at most ${MAX_POINTS}.`,
        override: { type: 'integer', enum: [...STATISTICS_STEPS] },
      })
      .exactOptional(),
  }),
);

type Steps = Pick<MessageWindow, 'since' | 'until'> & { stepMs: number };

/**
 * Widens a window to whole steps since 1970.
 * @throws RefusedRequest naming `step` or `since`, if the window has too many steps or days
 */
function inSteps(window: Pick<MessageWindow, 'since' | 'until'>, asked: number | undefined): Steps {
  const widened = (asked === undefined ? STATISTICS_STEPS : [asked]).map((seconds): Steps => {
    const stepMs = seconds * 1000;
    return {
      stepMs,
      since: Math.floor(window.since / stepMs) * stepMs,
      until: Math.ceil(window.until / stepMs) * stepMs,
    };
  });
  const fitting = widened.find(({ since, until, stepMs }) => until - since <= MAX_POINTS * stepMs);
  if (fitting === undefined)
    throw invalidFields([
      { field: 'step', message: `must divide the window into at most ${MAX_POINTS} steps` },
    ]);
  // As asked for: widened to days, 8 days that start at noon touch 9.
  if (window.until - window.since > MAX_DAYS * DAY_MS)
    throw invalidFields([{ field: 'since', message: `must be at most ${MAX_DAYS} days before until` }]);
  return fitting;
}

/** In order of time, without empty steps. */
async function countersByStep(
  statistics: Pick<QueueStatistics, 'minutes'>,
  window: MessageWindow,
  stepMs: number,
): Promise<Map<number, RunningCounters>> {
  const steps = new Map<number, RunningCounters>();
  for await (const { at, counters } of statistics.minutes(window)) {
    const start = Math.floor(at / stepMs) * stepMs;
    const step = steps.get(start) ?? noCounters();
    addTo(step, counters);
    steps.set(start, step);
  }
  return steps;
}
