import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import type { Listed } from '../../../../api-client/api-client.ts';
import type { RecentMessage } from '../../api/recent-deliveries.ts';
import { CommandText } from '../../parts/source-text.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Sparkline } from '../../parts/sparkline.tsx';
import type { SparkStatus } from '../../parts/status.tsx';
import { SubscriptionState } from '../../parts/subscription-text.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { hrefTo } from '../../route.ts';

const PLACES = 20;

export function SubscriptionTable({
  queue,
  listed,
  recent,
}: {
  queue: string;
  listed: Listed<SubscriptionView>;
  recent: readonly RecentMessage[] | undefined;
}) {
  if (listed.items.length === 0) return <NoSubscriptions queue={queue} />;
  return (
    <>
      <Table
        caption={`Subscriptions of ${queue}`}
        columns={columnsOf(queue, recent)}
        rows={listed.items}
        keyOf={({ id }) => id}
      />
      {listed.more ? <p class="muted">Only the first {listed.items.length} are shown.</p> : null}
    </>
  );
}

function columnsOf(queue: string, recent: readonly RecentMessage[] | undefined): Column<SubscriptionView>[] {
  return [
    {
      head: 'Subscriber',
      wide: true,
      cell: ({ id, name, subscriber }) => (
        <>
          <a class="url strong" href={hrefTo({ page: 'subscription', queue, subscription: id })}>
            {name ?? subscriber}
          </a>
          {name === undefined ? null : <span class="sub url">{subscriber}</span>}
          <span class="sub id">{id}</span>
        </>
      ),
    },
    { head: 'State', cell: (subscription) => <SubscriptionState of={subscription} /> },
    {
      head: `Last ${PLACES} messages`,
      cell: ({ id }) => (
        <Sparkline places={PLACES} sparks={recent === undefined ? [] : sparksOf(recent, id)} />
      ),
    },
  ];
}

/** The delivery statuses of one subscription, newest on the right. */
function sparksOf(recent: readonly RecentMessage[], id: string): SparkStatus[] {
  return recent
    .slice(0, PLACES)
    .map(
      ({ deliveries }) =>
        deliveries.find(({ subscriptionId }) => subscriptionId === id)?.status ?? ('none' as const),
    )
    .toReversed();
}

function NoSubscriptions({ queue }: { queue: string }) {
  return (
    <Empty title="No subscriptions yet">
      <p>
        Without one, messages of this queue are accepted and not delivered. Subscribe a URL with the button
        above, or run
      </p>
      <CommandText args={`subscription create ${queue} https://hooks.example.com/${queue}`} />
    </Empty>
  );
}
