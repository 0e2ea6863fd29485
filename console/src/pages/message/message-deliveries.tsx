import type { JSX } from 'preact';
import type { DeliveryView } from '../../../../shared/wire/views/delivery.ts';
import type { Listed } from '../../api/listed.ts';
import { Empty } from '../../parts/notice.tsx';
import { Moment } from '../../parts/moment.tsx';
import { Status } from '../../parts/status.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { durationText } from '../../parts/time-text.ts';
import { hrefTo } from '../../route.ts';

export function MessageDeliveries({
  listed,
  matched,
}: {
  listed: Listed<DeliveryView>;
  matched: number;
}): JSX.Element {
  if (listed.items.length === 0)
    return matched === 0 ? (
      <Empty title="No subscription matched this message" />
    ) : (
      <Empty title="No delivery recorded yet" />
    );
  return (
    <>
      <Table
        caption="Deliveries of this message"
        columns={COLUMNS}
        rows={listed.items}
        keyOf={({ subscriptionId }) => subscriptionId}
      />
      {listed.more ? <p class="muted">Only the first {listed.items.length} are shown.</p> : null}
    </>
  );
}

const COLUMNS: readonly Column<DeliveryView>[] = [
  {
    head: 'Subscription',
    wide: true,
    cell: ({ queue, messageId, subscriptionId }) => (
      <a
        class="id"
        href={hrefTo({ page: 'delivery', queue, message: messageId, subscription: subscriptionId })}
      >
        {subscriptionId}
      </a>
    ),
  },
  { head: 'Status', cell: ({ status, reason }) => <Status of={status} reason={reason} /> },
  { head: 'Attempts', numeric: true, cell: ({ attempts }) => attempts.length },
  {
    head: 'Last response',
    cell: ({ attempts }) => {
      const last = attempts.at(-1);
      return last === undefined
        ? ''
        : `${last.statusCode ?? last.error ?? ''} after ${durationText(last.durationMs)}`;
    },
  },
  {
    head: 'Next attempt',
    cell: ({ nextAttemptAt }) => (nextAttemptAt === undefined ? '' : <Moment at={nextAttemptAt} />),
  },
];
