import type { SubscriptionDeliveryView } from '../../../../shared/wire/views/delivery.ts';
import { Moment } from '../../parts/facts.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Status } from '../../parts/status.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { durationText } from '../../parts/time-text.ts';
import { hrefTo } from '../../route.ts';

/** The newest deliveries of a subscription, delivered ones too. */
export function RecentDeliveries({
  recent,
  more,
}: {
  recent: readonly SubscriptionDeliveryView[];
  /** Whether the messages of the last 24 hours were not all looked through. */
  more: boolean;
}) {
  return recent.length === 0 ? (
    <Empty title={more ? 'No deliveries of the newest messages' : 'No deliveries in the last 24 hours'}>
      <p>Send a test message to see the response.</p>
    </Empty>
  ) : (
    <Table
      caption="Deliveries of messages of the last 24 hours, newest first"
      columns={COLUMNS}
      rows={recent}
      keyOf={({ messageId }) => messageId}
    />
  );
}

const COLUMNS: readonly Column<SubscriptionDeliveryView>[] = [
  { head: 'Accepted', cell: ({ acceptedAt }) => <Moment at={acceptedAt} /> },
  {
    head: 'Message',
    wide: true,
    cell: ({ queue, messageId, subscriptionId, messageType }) => (
      <>
        <a
          class="id"
          href={hrefTo({ page: 'delivery', queue, message: messageId, subscription: subscriptionId })}
        >
          {messageId}
        </a>
        {messageType === undefined ? null : <span class="sub">{messageType}</span>}
      </>
    ),
  },
  { head: 'Status', cell: ({ status, reason }) => <Status of={status} reason={reason} /> },
  { head: 'Attempts', numeric: true, cell: ({ attemptCount }) => attemptCount },
  {
    head: 'Last response',
    cell: ({ lastAttempt }) => lastAttempt?.statusCode ?? lastAttempt?.error ?? '',
  },
  { head: 'Response time', numeric: true, cell: ({ durationMs }) => textOf(durationMs) },
  { head: 'Delivered after', numeric: true, cell: ({ deliveredAfterMs }) => textOf(deliveredAfterMs) },
];

function textOf(milliseconds: number | undefined): string {
  return milliseconds === undefined ? '' : durationText(milliseconds);
}
