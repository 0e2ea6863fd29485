import type { JSX } from 'preact';
import { Awaited } from '../../parts/awaited.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { durationText } from '../../parts/time-text.ts';
import { hrefTo } from '../../route.ts';
import {
  inOrderOfNeed,
  LATE_MS,
  rateText,
  worriesOf,
  type QueueStanding,
  type Worry,
} from './queue-standing.ts';

type Row = { name: string; standing: QueueStanding | undefined; worries: readonly Worry[] };

/** The queues, those that need attention first. */
export function QueueTable({
  names,
  standings,
}: {
  names: readonly string[];
  standings: ReadonlyMap<string, QueueStanding>;
}): JSX.Element {
  const rows = names.map((name): Row => {
    const standing = standings.get(name);
    return { name, standing, worries: standing === undefined ? [] : worriesOf(standing) };
  });
  return (
    <Table
      caption="Queues, those that need attention first. Figures are for the last five minutes."
      columns={COLUMNS}
      rows={inOrderOfNeed(rows)}
      keyOf={({ name }) => name}
      rowClass={({ worries }) => (worries.length > 0 ? 'row-worry' : undefined)}
    />
  );
}

function figure(text: (standing: QueueStanding) => JSX.Element | string) {
  return ({ standing }: Row): JSX.Element | string => (standing === undefined ? <Awaited /> : text(standing));
}

const COLUMNS: readonly Column<Row>[] = [
  {
    head: 'Queue',
    wide: true,
    cell: ({ name, worries }) => (
      <>
        <a class="strong" href={hrefTo({ page: 'queue', queue: name })}>
          {name}
        </a>
        {worries.map(({ text }) => (
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
