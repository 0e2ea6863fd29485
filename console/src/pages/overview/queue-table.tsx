import type { JSX } from 'preact';
import { LoadingFigure } from '../../parts/loaded.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { durationText } from '../../parts/time-text.ts';
import { hrefTo } from '../../route.ts';
import { WINDOWS, type Counts, type WindowName, failedIn } from '../../statistics/series.ts';
import { byUrgency, LATE_MS, warningsOf, type QueueFigures, type Warning } from './queue-figures.ts';

/** Undefined figures are not read yet; `failure`: why the last poll failed. */
export type ShownQueue = { name: string; value: QueueFigures | undefined; failure: unknown };

type Row = ShownQueue & { warnings: readonly Warning[] };

/** The queues, those that need attention first. `window`: that of their statistics. */
export function QueueTable({ queues, window }: { queues: readonly ShownQueue[]; window: WindowName }) {
  const rows = queues.map((queue): Row => {
    return { ...queue, warnings: queue.value === undefined ? [] : warningsOf(queue.value) };
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
  return ({ value, failure }: Row): JSX.Element | string => {
    if (value !== undefined) return text(value);
    return failure === undefined ? <LoadingFigure /> : 'unknown';
  };
}

function count(text: (total: Counts) => JSX.Element | string) {
  return figure(({ statistics }) => (statistics === undefined ? 'not counted' : text(statistics.total)));
}

const COLUMNS: readonly Column<Row>[] = [
  {
    head: 'Queue',
    wide: true,
    cell: ({ name, warnings }) => (
      <>
        <a class="strong" href={hrefTo({ page: 'queue', queue: name })}>
          {name}
        </a>
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
