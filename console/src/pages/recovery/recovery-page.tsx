import { useState } from 'preact/hooks';
import { listRecoveries, listSubscriptions, stopRecovery } from '../../../../api-client/operations.ts';
import type { RecoveryView } from '../../../../shared/wire/views/recovery.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useLiveItems } from '../../live/use-live.ts';
import { ActionButton, SmallButton } from '../../parts/form.tsx';
import { Moment } from '../../parts/facts.tsx';
import { Empty, Loaded } from '../../parts/loaded.tsx';
import { Section } from '../../parts/page-heading.tsx';
import { RecoveryResult } from '../../parts/recovery-result.tsx';
import { subscriberText } from '../../parts/subscription-text.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import type { Query } from '../../route.ts';
import { PageOfQueue } from '../queue/page-of-queue.tsx';
import { RecoveryForm } from './recovery-form.tsx';

const MOST = 20;
const MAX_SUBSCRIPTIONS = 100;

/** Starts recoveries of a queue and shows their progress. */
export function RecoveryPage({ queue, query }: { queue: string; query: Query }) {
  const { api } = useConsole();
  const recoveries = useLiveItems(listRecoveries, { path: { queue }, most: MOST });
  const subscriptions = useLiveItems(listSubscriptions, { path: { queue }, most: MAX_SUBSCRIPTIONS });
  const [chosen, setChosen] = useState<string>();
  const { items: listed = [] } = recoveries.value ?? {};
  const { items: subscribed = [] } = subscriptions.value ?? {};
  const names = new Map(subscribed.map((one) => [one.id, subscriberText(one)]));
  // The newest recovery unless another is chosen.
  const shown = listed.find(({ id }) => id === chosen) ?? listed[0];
  const actions = ({ id, state }: RecoveryView) => (
    <span class="actions">
      {id === shown?.id ? null : <SmallButton onClick={() => setChosen(id)}>Show result</SmallButton>}
      {state !== 'running' ? null : (
        <ActionButton
          work={() => api.call(stopRecovery, { path: { queue, recovery: id } }).then(recoveries.refresh)}
        >
          Stop
        </ActionButton>
      )}
    </span>
  );
  return (
    <PageOfQueue title="Recovery" queue={queue} live={recoveries}>
      <p>
        Recovers failed deliveries after an outage: each rejected, exhausted or cancelled delivery of a time
        window gets another round of attempts, in the background. A recovery does not include deliveries that
        fail after its start.
      </p>
      <Section title="Start a recovery">
        <RecoveryForm
          queue={queue}
          query={query}
          subscriptions={subscribed}
          onStarted={() => {
            setChosen(undefined);
            recoveries.refresh();
          }}
        />
      </Section>
      {shown === undefined ? null : (
        <Section title="Result">
          <RecoveryResult key={shown.id} recovery={shown} names={names} />
        </Section>
      )}
      <Section title="Recoveries of this queue">
        <Loaded live={recoveries}>
          {({ items }) => (
            <Table
              caption="Recoveries, newest first"
              columns={[...COLUMNS, { head: 'Action', cell: actions }]}
              rows={items}
              keyOf={({ id }) => id}
              empty={<Empty title="No recoveries yet" />}
            />
          )}
        </Loaded>
      </Section>
    </PageOfQueue>
  );
}

const COLUMNS: readonly Column<RecoveryView>[] = [
  { head: 'Started', cell: ({ createdAt }) => <Moment at={createdAt} /> },
  {
    head: 'Window',
    wide: true,
    cell: ({ since, until, by, subscription, status }) => (
      <>
        <Moment at={since} /> to <Moment at={until} />
        <span class="sub">
          {status ?? 'all failed deliveries'}
          {by === 'failure' ? ', by the time of the failure' : ''}
          {subscription === undefined ? '' : `, subscription ${subscription}`}
        </span>
      </>
    ),
  },
  {
    head: 'State',
    cell: ({ state }) => <span class={state === 'running' ? 'tone-pending strong' : ''}>{state}</span>,
  },
  { head: 'Found', numeric: true, cell: ({ found }) => found },
  { head: 'Reopened', numeric: true, cell: ({ reopened }) => reopened },
  {
    head: 'Skipped',
    cell: ({ skipped }) =>
      Object.entries(skipped)
        .map(([reason, count]) => `${count} ${reason.replaceAll('_', ' ')}`)
        .join(', ') || 'none',
  },
  { head: 'Updated', cell: ({ updatedAt }) => <Moment at={updatedAt} /> },
];
