import { shortId } from '../../../../api-client/subscription-labels.ts';
import { LISTED_STATUSES } from '../../../../shared/domain/delivery/vocabulary.ts';
import { type ListedDelivery, listDeliveries } from '../../../../api-client/operations.ts';
import { useLiveItems } from '../../live/use-live.ts';
import { WAITS } from '../../../../shared/wire/views/delivery.ts';
import { LoadMore, useMost, Table, type Column } from '../../parts/table.tsx';
import { Loaded, Empty } from '../../parts/loaded.tsx';
import { Moment } from '../../parts/facts.tsx';
import { WindowText } from '../../parts/windows.tsx';
import { LinkBar } from '../../parts/page-heading.tsx';
import { ACCEPTED, RESULT } from '../../parts/delivery-columns.tsx';
import { hrefTo, type Query } from '../../route.ts';
import { PageOfQueue } from '../queue/page-of-queue.tsx';

/** The recorded deliveries of a queue, except delivered ones, which the API lists only by message. */
export function DeliveriesPage({ queue, query }: { queue: string; query: Query }) {
  const { most, showMore } = useMost();
  const { status, subscription, since, until } = query;
  const deliveries = useLiveItems(listDeliveries, {
    path: { queue },
    query: { status, subscription, since, until },
    most,
  });
  return (
    <PageOfQueue title="Deliveries" queue={queue} live={deliveries}>
      <LinkBar
        kind="choices-bar"
        label="Filter by status"
        links={[undefined, ...LISTED_STATUSES].map((one) => [
          one ?? 'all',
          hrefTo({ page: 'deliveries', queue, query: { ...query, status: one } }),
          one === status,
        ])}
      />
      <WindowText
        since={since}
        until={until}
        otherwise="All except delivered ones, which are listed with their message. Newest message first."
      />
      {subscription === undefined ? null : <SubscriptionFilter queue={queue} subscription={subscription} />}
      <div class="section">
        <Loaded live={deliveries} lines={8}>
          {({ items, more }) => (
            <>
              <Table
                caption="Deliveries, newest message first"
                columns={COLUMNS}
                rows={items}
                keyOf={({ messageId, subscriptionId }) => `${messageId} ${subscriptionId}`}
                empty={
                  <Empty title="No matching deliveries">
                    <p>Deliveries that succeeded are listed with their message.</p>
                  </Empty>
                }
              />
              <LoadMore what="deliveries" more={more} onMore={showMore} />
            </>
          )}
        </Loaded>
      </div>
    </PageOfQueue>
  );
}

function SubscriptionFilter({ queue, subscription }: { queue: string; subscription: string }) {
  return (
    <p>
      Only the subscription{' '}
      <a class="id" href={hrefTo({ page: 'subscription', queue, subscription })}>
        {subscription}
      </a>
      . <a href={hrefTo({ page: 'deliveries', queue, query: {} })}>Show all subscriptions</a>
    </p>
  );
}

const COLUMNS: readonly Column<ListedDelivery>[] = [
  ACCEPTED,
  {
    head: 'Delivery',
    wide: true,
    cell: ({ queue, messageId, subscriptionId }) => (
      <a class="id" href={hrefTo({ page: 'delivery', queue, messageId, subscriptionId })}>
        {messageId} <span class="muted">to {shortId(subscriptionId)}</span>
      </a>
    ),
  },
  ...RESULT,
  {
    head: 'Next attempt',
    cell: ({ nextAttemptAt, waiting }) => (
      <>
        {nextAttemptAt === undefined || waiting === 'paused' ? null : <Moment at={nextAttemptAt} />}
        {waiting === undefined ? null : <span class="sub">waits {WAITS[waiting]}</span>}
      </>
    ),
  },
];
