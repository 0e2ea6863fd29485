import { useMemo, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import type * as z from 'zod';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { getStatistics } from '../../../api-client/operations.ts';
import { isRefusal, orElse } from '../../../api-client/refusal.ts';
import { STATISTICS_COUNTS } from '../../../shared/domain/delivery/statistics.ts';
import { toRecord, wordsIn } from '../../../shared/domain/delivery/vocabulary.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import type { statisticsViewSchema } from '../../../shared/wire/views/statistics.ts';
import { usePage } from '../live/page-context.tsx';
import { useLive } from '../live/use-live.ts';
import { Chart, type ChartOptions, DURATION_VALUES, lonePoints, timeChart } from '../parts/chart.tsx';
import { SmallButton } from '../parts/form.tsx';
import { Loaded, Empty } from '../parts/loaded.tsx';
import { Section } from '../parts/page-heading.tsx';

/** Chooses the window of figures and charts. */
export function WindowChoice({
  window,
  onChange,
}: {
  window: WindowName;
  onChange: (window: WindowName) => void;
}) {
  return (
    <div class="actions" role="group" aria-label="Time window">
      {wordsIn(WINDOWS).map((name) => (
        <SmallButton key={name} aria-pressed={name === window} onClick={() => onChange(name)}>
          {`${WINDOWS[name].text.slice(0, 1).toUpperCase()}${WINDOWS[name].text.slice(1)}`}
        </SmallButton>
      ))}
    </div>
  );
}

/** Shown in place of figures and charts that the deployment does not count. */
export function NotCounted() {
  return (
    <p class="muted">
      This deployment counts no statistics: its setting queueStatistics is off, or it has an earlier version.
    </p>
  );
}

/** What happened in one queue over time. `isOptional`: nothing where the deployment counts nothing. */
export function QueueStatistics({
  queue,
  title = 'Over time',
  first = 'hour',
  isOptional = false,
}: {
  queue: string;
  title?: string;
  first?: WindowName;
  isOptional?: boolean;
}) {
  const { api } = usePage();
  const [window, setWindow] = useState(first);
  const statistics = useLive(`statistics/${queue}/${window}`, (signal) =>
    readStatistics(api, queue, { window, now: Date.now(), signal }),
  );
  if (isOptional && statistics.value === null) return null;
  return (
    <Section title={title} aside={<WindowChoice window={window} onChange={setWindow} />}>
      <Loaded live={statistics} lines={12}>
        {(value) => (value === null ? <NotCounted /> : <StatisticsCharts summary={value} window={window} />)}
      </Loaded>
    </Section>
  );
}

type StatisticsChartsProps = {
  summary: Summary;
  window: WindowName;
  queues?: number;
};

/** Charts of what happened over time. `queues`: how many queues it sums up. */
export function StatisticsCharts({ summary, window, queues = 1 }: StatisticsChartsProps) {
  const series = useMemo(() => buildSeries(summary), [summary]);
  const { total } = summary;
  if (total.messages + total.attempts === 0) return <Empty title="No message and no attempt in this time" />;
  return (
    <div class="charts">
      {CHART_KINDS.map((kind) => (
        <StatisticsChart
          key={kind.title}
          kind={kind}
          series={series}
          total={total}
          text={WINDOWS[window].text}
          aside={kind.aside(window, queues)}
        />
      ))}
    </div>
  );
}

const HEIGHT = 150;

function StatisticsChart({
  kind: { title, lines, totalText, options },
  series: { times, steps },
  total,
  text,
  aside,
}: {
  kind: ChartKind;
  series: Series;
  total: Counts;
  /** Names the window. */
  text: string;
  aside: string;
}) {
  const data = useMemo(
    (): uPlot.AlignedData => [times, ...lines.map(([, , , value]) => steps.map(value))],
    [times, steps, lines],
  );
  const totals = lines.flatMap(([name, colour, dash, value]) => {
    const sum = value(total);
    return sum === null ? [] : [{ name, colour, dash, sum: totalText(sum) }];
  });
  const sums = totals.map(({ name, sum }) => `${name} ${sum}`).join(', ');
  return (
    <figure>
      <figcaption>
        {title} <span class="muted">{aside}</span>
      </figcaption>
      {totals.length === 0 ? (
        <p class="muted">None in this time.</p>
      ) : (
        <>
          <Chart
            options={options}
            data={data}
            height={HEIGHT}
            label={`${title} ${aside}, ${text}. In total: ${sums}.`}
          />
          <ul class="legend">
            {totals.map(({ name, colour, dash, sum }) => (
              <li key={name} class={colour}>
                <svg width="22" height="8" aria-hidden="true">
                  <line x1="0" x2="22" y1="4" y2="4" stroke-dasharray={dash.join(' ') || 'none'} />
                </svg>
                <span>
                  {name} <strong>{sum}</strong>
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </figure>
  );
}

/** Colours are from tokens.css; the dashes distinguish the lines without them. `value` null: nothing to show. */
type Line = readonly [
  name: string,
  colour: `series-${'blue' | 'green' | 'orange' | 'purple' | 'red'}`,
  dash: number[],
  value: (counts: Counts) => number | null,
];

type ChartKind = {
  title: string;
  /** After the title, where it is the sum of this many queues. */
  aside: (window: WindowName, queues: number) => string;
  lines: readonly Line[];
  /** Of a value of the whole window. */
  totalText: (total: number) => string;
  options: ChartOptions;
};

export const CHART_KINDS: readonly ChartKind[] = [
  countChart('Messages', [['accepted', 'series-blue', [], ({ messages }) => messages]]),
  countChart('Outcomes', [
    ['delivered', 'series-green', [], ({ delivered }) => delivered],
    ['failed attempts', 'series-orange', [6, 3], ({ attemptsFailed }) => attemptsFailed],
    ['exhausted or rejected', 'series-red', [2, 3], failedIn],
  ]),
  chart('Successful attempts', { valueText: percentText, range: () => 100 }, [
    ['of all attempts', 'series-green', [], successRate],
  ]),
  percentileChart('Time to delivery', ({ timeToDelivery }) => timeToDelivery),
  percentileChart('Response times', ({ response }) => response),
];

function countChart(title: string, lines: readonly Line[]): ChartKind {
  return {
    ...chart(title, { valueText: countText, range: (most) => Math.max(4, most * 1.1) }, lines),
    aside: (window) => `per ${WINDOWS[window].step}`,
    totalText: (total) => total.toLocaleString('en'),
  };
}

function percentileChart(title: string, times: (counts: Counts) => Percentiles | undefined): ChartKind {
  const lines: Line[] = [
    ['p50', 'series-blue', [], (counts) => times(counts)?.p50 ?? null],
    ['p95', 'series-orange', [6, 3], (counts) => times(counts)?.p95 ?? null],
    ['p99', 'series-purple', [2, 3], (counts) => times(counts)?.p99 ?? null],
  ];
  // Percentiles of several queues are those of the slowest.
  const aside: ChartKind['aside'] = (_, queues) => (queues > 1 ? 'of the slowest queue' : '');
  return { ...chart(title, DURATION_VALUES, lines), aside };
}

function chart(
  title: string,
  values: { valueText: (value: number) => string; range: (most: number) => number; steps?: number[] },
  lines: readonly Line[],
): ChartKind {
  const series = (colour: (name: string) => string) =>
    lines.map(([, name, dash]) => {
      const stroke = colour(name);
      return { stroke, dash, width: 1.75, points: lonePoints(stroke) };
    });
  const options = timeChart({ ...values, series });
  return { title, aside: () => '', lines, totalText: values.valueText, options };
}

/** Rounded down, so that 100% means that every attempt succeeded. */
export function percentText(percent: number): string {
  return `${(Math.floor(percent * 10) / 10).toLocaleString('en')}%`;
}

/** 950, 1.2K, 3M; empty between whole numbers. */
function countText(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString('en', { notation: 'compact' }) : '';
}

/** Counts and durations of a queue. `points` leaves out steps in which nothing happened. */
export type Statistics = z.infer<typeof statisticsViewSchema>;
export type Counts = Omit<Statistics['points'][number], 'at'>;
type Percentiles = NonNullable<Counts['response']>;

/** The windows to choose from. */
export const WINDOWS = {
  hour: { text: 'last hour', lengthMs: 3_600_000, stepSeconds: 60, step: 'minute' },
  day: { text: 'last 24 hours', lengthMs: 86_400_000, stepSeconds: 900, step: '15 minutes' },
  week: { text: 'last 7 days', lengthMs: 604_800_000, stepSeconds: 3_600, step: 'hour' },
} as const;

export type WindowName = keyof typeof WINDOWS;

/** The steps of a window up to now; the last one is still being counted. Null: the deployment counts nothing. */
export async function readStatistics(
  api: ApiClient,
  queue: string,
  { window, now, signal }: { window: WindowName; now: number; signal: AbortSignal },
): Promise<Statistics | null> {
  const { lengthMs, stepSeconds } = WINDOWS[window];
  const query = { since: timeText(now - lengthMs), step: stepSeconds };
  // An earlier version of Posthaste, which does not have the route.
  const isEarlier = (failure: unknown): boolean => isRefusal(failure) && failure.status === 404;
  const call = api.call(getStatistics, { path: { queue }, query, signal });
  const statistics = await call.catch(orElse(isEarlier, undefined));
  return statistics?.enabled === true ? statistics : null;
}

/** The counts of several queues, or of one. */
export type Summary = Pick<Statistics, 'since' | 'until' | 'stepSeconds' | 'points' | 'total'>;

/** All steps of the window in order. `times`: seconds since the epoch, as in uPlot. */
type Series = { times: number[]; steps: Counts[] };

export function buildSeries({ since, until, stepSeconds, points }: Summary): Series {
  const begin = Date.parse(since) / 1000;
  const count = Math.ceil((Date.parse(until) / 1000 - begin) / stepSeconds);
  const times = Array.from({ length: count }, (_, step) => begin + step * stepSeconds);
  const byTime = new Map(points.map((point) => [Date.parse(point.at) / 1000, point]));
  const nothing = sumOfCounts([]);
  return { times, steps: times.map((time) => byTime.get(time) ?? nothing) };
}

/** The share of attempts that succeeded, in percent; null without an attempt. */
export function successRate(counts: Counts | undefined): number | null {
  if (counts === undefined || counts.attempts === 0) return null;
  return (1 - (counts.attemptsFailed + counts.attemptsRejected) / counts.attempts) * 100;
}

/** Deliveries that ended without success. Cancelled ones are not failures of a subscriber. */
export function failedIn({ exhausted, rejected }: Counts): number {
  return exhausted + rejected;
}

/**
 * The sums over queues that were read for the same window; undefined without a queue. Percentiles cannot be added up:
 * those of the slowest queue stand for all.
 */
export function sumOfStatistics(all: readonly Summary[]): Summary | undefined {
  const [first] = all;
  if (first === undefined) return undefined;
  const byTime = Object.groupBy(
    all.flatMap(({ points }) => points),
    ({ at }) => at,
  );
  return {
    since: all.map(({ since }) => since).reduce((one, other) => (one < other ? one : other)),
    until: all.map(({ until }) => until).reduce((one, other) => (one > other ? one : other)),
    stepSeconds: first.stepSeconds,
    points: Object.entries(byTime).map(([at, points = []]) => ({ at, ...sumOfCounts(points) })),
    total: sumOfCounts(all.map(({ total }) => total)),
  };
}

function sumOfCounts(all: readonly Counts[]): Counts {
  const timeToDelivery = findSlowest(all.flatMap((counts) => counts.timeToDelivery ?? []));
  const response = findSlowest(all.flatMap((counts) => counts.response ?? []));
  return {
    ...toRecord(STATISTICS_COUNTS, (name) => all.reduce((total, counts) => total + counts[name], 0)),
    ...(timeToDelivery && { timeToDelivery }),
    ...(response && { response }),
  };
}

function findSlowest(all: readonly Percentiles[]): Percentiles | undefined {
  return all.toSorted((one, other) => other.p99 - one.p99)[0];
}
