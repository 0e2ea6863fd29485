import type { ComponentChildren } from 'preact';
import {
  listArchivedQueues,
  listArchivedSubscriptions,
  restoreQueue,
  restoreSubscription,
} from '../../../../api-client/operations.ts';
import type { ArchivedQueueView, ArchivedSubscriptionView } from '../../../../shared/wire/views/archive.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/hooks.ts';
import { useLive } from '../../live/use-live.ts';
import { Moment } from '../../parts/facts.tsx';
import { WorkButton } from '../../parts/form.tsx';
import { ActionFailure } from '../../parts/loaded.tsx';
import { Section } from '../../parts/page-heading.tsx';
import { type Column, Table } from '../../parts/table.tsx';

import { hrefTo } from '../../route.ts';

const MOST = 100;

/** The deleted queues that can be restored, each with a button. Nothing where there are none. */
export function DeletedQueues() {
  const { api } = useConsole();
  const queues = useLive('archived-queues', () => api.items(listArchivedQueues, { most: MOST }));
  const columns: readonly Column<ArchivedQueueView>[] = [
    { head: 'Queue', wide: true, cell: ({ name }) => name },
    ...times<ArchivedQueueView>(),
    {
      head: 'Restore',
      cell: ({ name, deletedAt }) => (
        <Restore
          work={async () => {
            await api.call(restoreQueue, { path: { queue: name }, body: { until: deletedAt } });
            location.hash = hrefTo({ page: 'queue', queue: name });
          }}
        />
      ),
    },
  ];
  return (
    <DeletedSection title="Deleted queues" rows={queues.value?.items ?? []}>
      {(rows) => (
        <Table
          caption="Queues that can be restored"
          columns={columns}
          rows={rows}
          keyOf={({ name, deletedAt }) => `${name} ${deletedAt}`}
        />
      )}
    </DeletedSection>
  );
}

/** The same for the deleted subscriptions of a queue. */
export function DeletedSubscriptions({ queue, onRestored }: { queue: string; onRestored: () => void }) {
  const { api } = useConsole();
  const subscriptions = useLive(`archived-subscriptions/${queue}`, () =>
    api.items(listArchivedSubscriptions, { path: { queue }, most: MOST }),
  );
  const columns: readonly Column<ArchivedSubscriptionView>[] = [
    { head: 'Subscriber', wide: true, cell: ({ name, subscriber }) => name ?? subscriber },
    ...times<ArchivedSubscriptionView>(),
    {
      head: 'Restore',
      cell: ({ id }) => (
        <Restore
          work={async () => {
            await api.call(restoreSubscription, { path: { queue, subscription: id } });
            subscriptions.refresh();
            onRestored();
          }}
        />
      ),
    },
  ];
  return (
    <DeletedSection title="Deleted subscriptions" rows={subscriptions.value?.items ?? []}>
      {(rows) => (
        <Table
          caption={`Deleted subscriptions of ${queue} that can be restored`}
          columns={columns}
          rows={rows}
          keyOf={({ id }) => id}
        />
      )}
    </DeletedSection>
  );
}

function times<Row extends Pick<ArchivedQueueView, 'deletedAt' | 'restorableUntil'>>(): Column<Row>[] {
  return [
    { head: 'Deleted', cell: ({ deletedAt }) => <Moment at={deletedAt} /> },
    { head: 'Can be restored until', cell: ({ restorableUntil }) => <Moment at={restorableUntil} /> },
  ];
}

function DeletedSection<Row>({
  title,
  rows,
  children,
}: {
  title: string;
  rows: readonly Row[];
  children: (rows: readonly Row[]) => ComponentChildren;
}) {
  if (rows.length === 0) return null;
  return (
    <Section title={title}>
      {children(rows)}
      <p class="muted">Ids and secrets stay. A recovery then sends what the deletion cancelled.</p>
    </Section>
  );
}

function Restore({ work }: { work: () => Promise<void> }) {
  const { action, run } = useAction(work);
  return (
    <>
      <WorkButton action={action} onClick={run}>
        Restore
      </WorkButton>
      <ActionFailure of={action} />
    </>
  );
}
