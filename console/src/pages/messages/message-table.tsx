import type { JSX } from 'preact';
import { OPEN_STATUSES, RECOVERABLE_STATUSES } from '../../../../shared/domain/delivery/vocabulary.ts';
import type { ListedMessage } from '../../../../api-client/operations.ts';
import { Moment } from '../../parts/moment.tsx';
import { Glyph } from '../../parts/status.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { hrefTo } from '../../route.ts';

const SHOWN_STATUSES = ['delivered', ...OPEN_STATUSES, ...RECOVERABLE_STATUSES] as const;

export function MessageTable({ messages }: { messages: readonly ListedMessage[] }): JSX.Element {
  return <Table caption="Messages, newest first" columns={COLUMNS} rows={messages} keyOf={({ id }) => id} />;
}

const COLUMNS: readonly Column<ListedMessage>[] = [
  { head: 'Accepted', cell: ({ acceptedAt }) => <Moment at={acceptedAt} /> },
  {
    head: 'Message',
    wide: true,
    cell: ({ queue, id }) => (
      <a class="id" href={hrefTo({ page: 'message', queue, message: id })}>
        {id}
      </a>
    ),
  },
  { head: 'Type', cell: ({ type }) => type ?? '' },
  { head: 'Matched', numeric: true, cell: ({ matched }) => matched },
  { head: 'Filtered', numeric: true, cell: ({ filtered }) => filtered },
  { head: 'Outcome', cell: (message) => <OutcomeCounts of={message} /> },
];

function OutcomeCounts({ of: { matched, deliveries, unfinished } }: { of: ListedMessage }): JSX.Element {
  if (unfinished === true) return <span class="muted">still being dispatched</span>;
  if (matched === 0) return <span class="muted">no match</span>;
  if (deliveries === undefined) return <span class="muted">too many to count</span>;
  const some = SHOWN_STATUSES.filter((status) => deliveries[status] > 0);
  if (some.length === 0) return <span class="muted">not recorded yet</span>;
  return (
    <span class="tally">
      {some.map((status) => (
        <span key={status} class={`status tone-${status}`}>
          <Glyph of={status} />
          <span>
            {deliveries[status]} {status}
          </span>
        </span>
      ))}
    </span>
  );
}
