import type { JSX } from 'preact';
import { LoadingFigure } from '../../parts/loading-figure.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { durationText } from '../../parts/time-text.ts';
import { hrefTo } from '../../route.ts';
import {
  byUrgency,
  LATE_MS,
  rateText,
  warningsOf,
  type QueueFigures,
  type Warning,
} from './queue-figures.ts';

type Row = { name: string; figures: QueueFigures | undefined; warnings: readonly Warning[] };

/** The queues, those that need attention first. */
export function QueueTable({
  names,
  figuresByQueue,
}: {
  names: readonly string[];
  figuresByQueue: ReadonlyMap<string, QueueFigures>;
}): JSX.Element {
  const rows = names.map((name): Row => {
    const figures = figuresByQueue.get(name);
    return { name, figures, warnings: figures === undefined ? [] : warningsOf(figures) };
  });
  return (
    <Table
      caption="Queues, those that need attention first. Messages, delivered and failed cover the last five minutes."
      columns={COLUMNS}
      rows={byUrgency(rows)}
      keyOf={({ name }) => name}
      rowClass={({ warnings }) => (warnings.length > 0 ? 'row-worry' : undefined)}
    />
  );
}

function figure(text: (figures: QueueFigures) => JSX.Element | string) {
  return ({ figures }: Row): JSX.Element | string =>
    figures === undefined ? <LoadingFigure /> : text(figures);
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
  { head: 'Messages per minute', numeric: true, cell: figure(({ perMinute }) => rateText(perMinute)) },
  { head: 'Delivered', numeric: true, cell: figure(({ delivered }) => delivered.toLocaleString('en')) },
  {
    head: 'Failed',
    numeric: true,
    cell: figure(({ failed }) =>
      failed === 0 ? '0' : <span class="tone-rejected">{failed.toLocaleString('en')}</span>,
    ),
  },
  {
    head: 'Pending',
    numeric: true,
    cell: figure(({ pending }) => `${pending.count.toLocaleString('en')}${pending.more ? '+' : ''}`),
  },
  {
    head: 'Retries',
    numeric: true,
    cell: figure(({ latenessMs }) =>
      latenessMs < LATE_MS ? 'on time' : <span class="tone-retrying">{durationText(latenessMs)} late</span>,
    ),
  },
];
