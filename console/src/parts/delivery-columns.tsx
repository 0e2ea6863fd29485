import type { ListedDelivery } from '../../../api-client/operations.ts';
import { findInFlight } from '../../../api-client/words.ts';
import type { SubscriptionDeliveryView } from '../../../shared/wire/views/delivery.ts';
import { hrefTo } from '../route.ts';
import { Moment } from './facts.tsx';
import { lastResponse, Status } from './status.tsx';
import type { Column } from './table.tsx';
import { durationText } from './time-text.ts';

/** Of every list of deliveries. */
export const ACCEPTED: Column<ListedDelivery> = {
  head: 'Accepted',
  cell: ({ acceptedAt }) => <Moment at={acceptedAt} />,
};
export const RESULT: readonly Column<ListedDelivery>[] = [
  { head: 'Status', cell: ({ status, reason }) => <Status of={status} reason={reason} /> },
  { head: 'Attempts', numeric: true, cell: ({ attemptCount }) => attemptCount },
  { head: 'Last response', cell: lastResponse },
];

/** When the next attempt is due. A paused delivery is past that time, and one in flight as well. */
export function nextAttempt(delivery: Pick<ListedDelivery, 'nextAttemptAt' | 'waiting' | 'inFlight'>) {
  const { nextAttemptAt, waiting } = delivery;
  if (findInFlight(delivery, Date.now()) !== undefined) return 'in flight';
  return nextAttemptAt === undefined || waiting === 'paused' ? '' : <Moment at={nextAttemptAt} />;
}

/** Of the deliveries of one subscription. */
export const DELIVERY_COLUMNS: readonly Column<SubscriptionDeliveryView>[] = [
  ACCEPTED,
  {
    head: 'Message',
    wide: true,
    cell: ({ queue, messageId, subscriptionId, messageType }) => (
      <>
        <a class="id" href={hrefTo({ page: 'delivery', queue, messageId, subscriptionId })}>
          {messageId}
        </a>
        {messageType === undefined ? null : <span class="sub">{messageType}</span>}
      </>
    ),
  },
  ...RESULT,
  { head: 'Response time', numeric: true, cell: ({ durationMs }) => formatMs(durationMs) },
  { head: 'Delivered after', numeric: true, cell: ({ deliveredAfterMs }) => formatMs(deliveredAfterMs) },
];

function formatMs(milliseconds: number | undefined): string {
  return milliseconds === undefined ? '' : durationText(milliseconds);
}
