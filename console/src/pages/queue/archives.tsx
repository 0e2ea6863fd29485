import {
  listArchivedQueues,
  listArchivedSubscriptions,
  restoreQueue,
  restoreSubscription,
} from '../../../../api-client/operations.ts';
import type { ArchivedQueueView } from '../../../../shared/wire/views/archive.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useLiveItems } from '../../live/use-live.ts';
import { Moment } from '../../parts/facts.tsx';
import { ActionButton } from '../../parts/form.tsx';
import { Section } from '../../parts/page-heading.tsx';
import { Table } from '../../parts/table.tsx';
import { hrefTo } from '../../route.ts';

const MOST = 100;

/** The deleted queues that can be restored, each with a button. Nothing where there are none. */
export function DeletedQueues() {
  const { api } = useConsole();
  const queues = useLiveItems(listArchivedQueues, { most: MOST });
  return (
    <Deleted
      title="Deleted queues"
      caption="Queues that can be restored"
      head="Queue"
      rows={queues.value?.items ?? []}
      keyOf={({ name, deletedAt }) => `${name} ${deletedAt}`}
      labelOf={({ name }) => name}
      restore={async ({ name, deletedAt }) => {
        await api.call(restoreQueue, { path: { queue: name }, body: { until: deletedAt } });
        location.hash = hrefTo({ page: 'queue', queue: name });
      }}
    />
  );
}

/** The same for the deleted subscriptions of a queue. */
export function DeletedSubscriptions({ queue, onRestored }: { queue: string; onRestored: () => void }) {
  const { api } = useConsole();
  const subscriptions = useLiveItems(listArchivedSubscriptions, { path: { queue }, most: MOST });
  return (
    <Deleted
      title="Deleted subscriptions"
      caption={`Deleted subscriptions of ${queue} that can be restored`}
      head="Subscriber"
      rows={subscriptions.value?.items ?? []}
      keyOf={({ id }) => id}
      labelOf={({ name, subscriber }) => name ?? subscriber}
      restore={async ({ id }) => {
        await api.call(restoreSubscription, { path: { queue, subscription: id } });
        subscriptions.refresh();
        onRestored();
      }}
    />
  );
}

type Times = Pick<ArchivedQueueView, 'deletedAt' | 'restorableUntil'>;

type DeletedProps<Row> = {
  title: string;
  caption: string;
  head: string;
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  labelOf: (row: Row) => string;
  restore: (row: Row) => Promise<void>;
};

function Deleted<Row extends Times>({ title, head, labelOf, restore, ...table }: DeletedProps<Row>) {
  if (table.rows.length === 0) return null;
  return (
    <Section title={title}>
      <Table
        {...table}
        columns={[
          { head, wide: true, cell: labelOf },
          { head: 'Deleted', cell: ({ deletedAt }) => <Moment at={deletedAt} /> },
          { head: 'Can be restored until', cell: ({ restorableUntil }) => <Moment at={restorableUntil} /> },
          { head: 'Restore', cell: (row) => <ActionButton work={() => restore(row)}>Restore</ActionButton> },
        ]}
      />
      <p class="muted">Ids and secrets stay. A recovery then sends what the deletion cancelled.</p>
    </Section>
  );
}
