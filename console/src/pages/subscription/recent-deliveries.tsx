import type { JSX } from 'preact';
import type { DeliveryView } from '../../../../shared/wire/views/delivery.ts';
import { Moment } from '../../parts/moment.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Status } from '../../parts/status.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { durationText } from '../../parts/time-text.ts';
import { hrefTo } from '../../route.ts';

export type RecentDelivery = { acceptedAt: string; delivery: DeliveryView };

export function RecentDeliveries({
  recent,
  most,
}: {
  recent: readonly RecentDelivery[];
  most: number;
}): JSX.Element {
  return recent.length === 0 ? (
    <Empty title={`No deliveries among the queue’s last ${most} messages`}>
      <p>Send a test message to see the response.</p>
    </Empty>
  ) : (
    <Table
      caption={`Deliveries among the queue’s last ${most} messages, newest first`}
      columns={COLUMNS}
      rows={recent}
      keyOf={({ delivery }) => delivery.messageId}
    />
  );
}

const COLUMNS: readonly Column<RecentDelivery>[] = [
  { head: 'Accepted', cell: ({ acceptedAt }) => <Moment at={acceptedAt} /> },
  {
    head: 'Message',
    wide: true,
    cell: ({ delivery: { queue, messageId, subscriptionId } }) => (
      <a
        class="id"
        href={hrefTo({ page: 'delivery', queue, message: messageId, subscription: subscriptionId })}
      >
        {messageId}
      </a>
    ),
  },
  { head: 'Status', cell: ({ delivery }) => <Status of={delivery.status} reason={delivery.reason} /> },
  { head: 'Attempts', numeric: true, cell: ({ delivery }) => delivery.attempts.length },
  {
    head: 'Last response',
    cell: ({ delivery }) => {
      const last = delivery.attempts.at(-1);
      return last?.statusCode ?? last?.error ?? '';
    },
  },
  {
    head: 'Duration',
    numeric: true,
    cell: ({ delivery }) => {
      const last = delivery.attempts.at(-1);
      return last === undefined ? '' : durationText(last.durationMs);
    },
  },
];
