import { DAY_MS } from '../../../../shared/domain/duration.ts';
import { shortId } from '../../../../api-client/subscription-labels.ts';
import { LISTED_STATUSES } from '../../../../shared/domain/delivery/vocabulary.ts';
import { type ListedDelivery, listDeliveries } from '../../../../api-client/operations.ts';
import { useLiveItems } from '../../live/use-live.ts';
import { WAITS } from '../../../../shared/wire/views/delivery.ts';
import { LoadMore, useMost, Table, type Column } from '../../parts/table.tsx';
import { Loaded, Empty } from '../../parts/loaded.tsx';
import { useWindow, WindowFields, windowQuery } from '../../parts/windows.tsx';
import { LinkBar } from '../../parts/page-heading.tsx';
import { ACCEPTED, nextAttempt, RESULT } from '../../parts/delivery-columns.tsx';
import { hrefTo, type Query } from '../../route.ts';
import { PageOfQueue } from '../queue/page-of-queue.tsx';

/** What is shown at first: as long as most deployments keep deliveries (the setting retentionDays). */
const SHOWN_MS = 30 * DAY_MS;

/** The recorded deliveries of a queue, except delivered ones, which the API lists only by message. */
export function DeliveriesPage({ queue, query }: { queue: string; query: Query }) {
  const { most, showMore } = useMost();
  const { status, subscription } = query;
  const [window, setWindow] = useWindow({ page: 'deliveries', queue, query }, SHOWN_MS);
  const shown: Query = { ...windowQuery(window), status, subscription };
  const deliveries = useLiveItems(listDeliveries, { path: { queue }, query: shown, most });
  return (
    <PageOfQueue title="Deliveries" queue={queue} live={deliveries}>
      <LinkBar
        kind="choices-bar"
        label="Filter by status"
        links={[undefined, ...LISTED_STATUSES].map((one) => [
          one ?? 'all',
          hrefTo({ page: 'deliveries', queue, query: { ...shown, status: one } }),
          one === status,
        ])}
      />
      <WindowFields window={window} onChange={setWindow} />
      <p class="muted">
        All except delivered ones, which are listed with their message. Newest message first.
      </p>
      {subscription === undefined ? null : (
        <SubscriptionFilter queue={queue} query={shown} id={subscription} />
      )}
      <div class="section">
        <Loaded live={deliveries} lines={8}>
          {({ items, more }) => (
            <>
              <Table
                caption="Deliveries, newest message first"
                columns={COLUMNS}
                rows={items}
                keyOf={({ messageId, subscriptionId }) => `${messageId} ${subscriptionId}`}
                empty={<Empty title="No matching deliveries" />}
              />
              <LoadMore what="deliveries" more={more} onMore={showMore} />
            </>
          )}
        </Loaded>
      </div>
    </PageOfQueue>
  );
}

function SubscriptionFilter({ queue, query, id }: { queue: string; query: Query; id: string }) {
  const all = hrefTo({ page: 'deliveries', queue, query: { ...query, subscription: undefined } });
  return (
    <p>
      Only the subscription{' '}
      <a class="id" href={hrefTo({ page: 'subscription', queue, subscription: id })}>
        {id}
      </a>
      . <a href={all}>Show all subscriptions</a>
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
    cell: (delivery) => (
      <>
        {nextAttempt(delivery)}
        {delivery.waiting === undefined ? null : <span class="sub">waits {WAITS[delivery.waiting]}</span>}
      </>
    ),
  },
];
