import type { JSX } from 'preact';
import type { ApiClient, Listed } from '../../../../api-client/api-client.ts';
import {
  type Health,
  listDeliveries,
  type ListedDelivery,
  listSubscriptions,
} from '../../../../api-client/operations.ts';
import { whyUnmatched } from '../../../../api-client/unmatched.ts';
import { counted, findInFlight, type PauseView } from '../../../../api-client/words.ts';
import type { Loading } from '../../live/use-live.ts';
import { LoadingFigure } from '../../parts/loaded.tsx';
import { PausedState } from '../../parts/subscription-text.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { durationText } from '../../parts/time-text.ts';
import { hrefTo } from '../../route.ts';
import {
  type Counts,
  failedIn,
  readStatistics,
  type Statistics,
  type Summary,
  sumOfStatistics,
  type WindowName,
  WINDOWS,
} from '../../statistics/statistics-charts.tsx';

/** A queue with its figures. */
export type ShownQueue = Loading<QueueFigures> & { name: string; paused?: PauseView };

type Row = ShownQueue & { warnings: readonly Warning[] };

/** The queues, those that need attention first. `window`: that of their statistics. */
export function QueueTable({ queues, window }: { queues: readonly ShownQueue[]; window: WindowName }) {
  const rows = queues.map((queue): Row => {
    return { ...queue, warnings: queue.value === undefined ? [] : listWarnings(queue.value) };
  });
  return (
    <Table
      caption={`Queues, those that need attention first. Messages, delivered and failed cover the ${WINDOWS[window].text}.`}
      columns={COLUMNS}
      rows={byUrgency(rows)}
      keyOf={({ name }) => name}
      rowClass={({ warnings }) => (warnings.length > 0 ? 'row-worry' : undefined)}
    />
  );
}

function figure(text: (figures: QueueFigures) => JSX.Element | string) {
  return (row: Row) => renderFigure(row, text);
}

/** A figure of what was read: loading until then, unknown after a failure. */
export function renderFigure<Value>(
  { value, failure }: Loading<Value>,
  text: (value: Value) => JSX.Element | string,
): JSX.Element | string {
  if (value !== undefined) return text(value);
  return failure === undefined ? <LoadingFigure /> : 'unknown';
}

function count(text: (total: Counts) => JSX.Element | string) {
  return figure(({ statistics }) => (statistics === undefined ? 'not counted' : text(statistics.total)));
}

const COLUMNS: readonly Column<Row>[] = [
  {
    head: 'Queue',
    wide: true,
    cell: ({ name, paused, warnings }) => (
      <>
        <a class="strong" href={hrefTo({ page: 'queue', queue: name })}>
          {name}
        </a>
        {paused === undefined ? null : (
          <>
            {' '}
            <PausedState of={paused} />
          </>
        )}
        {warnings.map(({ text }) => (
          <span key={text} class="worry">
            {text}
          </span>
        ))}
      </>
    ),
  },
  {
    head: 'Subscriptions',
    numeric: true,
    cell: figure(({ subscriptions }) => `${subscriptions.count}${subscriptions.more ? '+' : ''}`),
  },
  { head: 'Messages', numeric: true, cell: count(({ messages }) => messages.toLocaleString('en')) },
  { head: 'Delivered', numeric: true, cell: count(({ delivered }) => delivered.toLocaleString('en')) },
  { head: 'Failed', numeric: true, cell: count((total) => failedIn(total).toLocaleString('en')) },
  {
    head: 'Retrying',
    numeric: true,
    cell: figure(({ retrying }) => `${retrying.count.toLocaleString('en')}${retrying.more ? '+' : ''}`),
  },
  {
    head: 'Retries',
    numeric: true,
    cell: figure(({ latenessMs }) =>
      latenessMs < LATE_MS ? 'on time' : <span class="tone-retrying">{durationText(latenessMs)} late</span>,
    ),
  },
];

/** The data read for one queue. `since`, `at`: the window, in milliseconds since the epoch. */
export type QueueReading = Awaited<ReturnType<typeof readQueue>>;

/** The figures of a queue. `latenessMs`: how overdue the latest retry is. */
export type QueueFigures = {
  subscriptions: { count: number; more: boolean; failing: number; off: number };
  /** Undefined where the deployment counts none. */
  statistics: Statistics | undefined;
  retrying: { count: number; more: boolean };
  /** Rejected or exhausted in the window, and not delivered since. */
  undelivered: { count: number; more: boolean };
  latenessMs: number;
};

export function computeFigures(reading: QueueReading): QueueFigures {
  const { since, at, subscriptions, statistics, retrying } = reading;
  const { items } = subscriptions;
  return {
    subscriptions: {
      count: items.length,
      more: subscriptions.more,
      failing: items.filter(({ failing, disabled }) => failing !== undefined && disabled === undefined)
        .length,
      off: items.filter(({ disabled }) => disabled !== undefined && disabled.reason !== 'manual').length,
    },
    statistics: statistics ?? undefined,
    retrying: { count: retrying.items.length, more: retrying.more },
    undelivered: {
      count: reading.undelivered.items.filter((delivery) => endedAbout(delivery) >= since).length,
      more: reading.undelivered.more,
    },
    latenessMs: Math.max(0, ...retrying.items.map((delivery) => lateness(delivery, at))),
  };
}

/** Without an attempt, a delivery ends soon after the message is accepted. */
function endedAbout({ lastAttempt, acceptedAt }: ListedDelivery): number {
  return Date.parse(lastAttempt?.startedAt ?? acceptedAt);
}

/** 0 for an attempt in progress, and for one that waits on record. */
function lateness(delivery: ListedDelivery, at: number): number {
  const { nextAttemptAt, waiting } = delivery;
  const isWaiting = waiting === 'pull' || waiting === 'paused';
  return nextAttemptAt === undefined || isWaiting || findInFlight(delivery, at) !== undefined
    ? 0
    : at - Date.parse(nextAttemptAt);
}

/** The totals of several queues; the lateness is the maximum. `summary`: undefined where nothing is counted. */
export function sumFigures(all: readonly QueueFigures[]): Pick<QueueFigures, 'retrying' | 'latenessMs'> & {
  summary: Summary | undefined;
} {
  return {
    summary: sumOfStatistics(all.flatMap(({ statistics }) => statistics ?? [])),
    retrying: {
      count: all.reduce((total, { retrying }) => total + retrying.count, 0),
      more: all.some(({ retrying }) => retrying.more),
    },
    latenessMs: Math.max(0, ...all.map(({ latenessMs }) => latenessMs)),
  };
}

/** About how many SQS messages wait for dispatch or a first attempt; undefined where they could not be counted. */
export function waitingIn({ queues }: Pick<Health, 'queues'>): number | undefined {
  return queues && (queues['ingress'] ?? 0) + (queues['delivery'] ?? 0);
}

/** Less counts as on time: SQS and the polling of this page take as long. */
export const LATE_MS = 5_000;

type Warning = { weight: number; text: string };

/** What needs attention, worst first. */
export function listWarnings({
  subscriptions: { off, failing },
  statistics,
  undelivered,
  latenessMs,
}: QueueFigures): Warning[] {
  const unmatched = whyUnmatched(statistics?.points ?? []);
  const warnings: readonly (readonly [applies: boolean, weight: number, text: string])[] = [
    [off > 0, 4, `${counted(off, 'subscription', 'subscriptions')} disabled after failures`],
    [latenessMs > 12 * LATE_MS, 3, 'retries are overdue'],
    [failing > 0, 2, counted(failing, 'subscription is failing', 'subscriptions are failing')],
    [undelivered.count > 0, 1, `${undeliveredText(undelivered)} rejected or exhausted`],
    [unmatched !== undefined, 1, unmatched ?? ''],
  ];
  return warnings.flatMap(([applies, weight, text]) => (applies ? [{ weight, text }] : []));
}

function undeliveredText({ count, more }: QueueFigures['undelivered']): string {
  return more ? `${count}+ deliveries` : counted(count, 'delivery', 'deliveries');
}

/** Sorts by the weight of the worst problem, then by name. */
export function byUrgency<Row extends { name: string; warnings: readonly Warning[] }>(
  rows: readonly Row[],
): Row[] {
  return rows.toSorted((one, other) => weigh(other) - weigh(one) || (one.name < other.name ? -1 : 1));
}

function weigh({ warnings }: { warnings: readonly Warning[] }): number {
  return warnings[0]?.weight ?? 0;
}

/** One page of the API. */
const MOST = 100;

/** Three to five requests, whose cost does not depend on the number of messages. */
export async function readQueue(
  api: ApiClient,
  queue: string,
  { window, now, signal }: { window: WindowName; now: number; signal: AbortSignal },
) {
  const listed = (status: string): Promise<Listed<ListedDelivery>> =>
    api.items(listDeliveries, { path: { queue }, query: { status }, most: MOST, signal });
  const [subscriptions, statistics, retrying] = await Promise.all([
    api.items(listSubscriptions, { path: { queue }, most: MOST, signal }),
    readStatistics(api, queue, { window, now, signal }),
    listed('retrying'),
  ]);
  // Where nothing is counted, only the lists can tell.
  const mayHaveFailed = statistics === null || failedIn(statistics.total) > 0;
  // Now, whenever that happened.
  const failed = mayHaveFailed ? await Promise.all([listed('rejected'), listed('exhausted')]) : [];
  const undelivered = {
    items: failed.flatMap(({ items }) => items),
    more: failed.some(({ more }) => more),
  };
  const since = now - WINDOWS[window].lengthMs;
  return { since, at: now, subscriptions, statistics, retrying, undelivered };
}
