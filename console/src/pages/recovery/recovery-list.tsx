import { stopRecovery } from '../../../../api-client/operations.ts';
import type { RecoveryView } from '../../../../shared/wire/views/recovery.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { Moment } from '../../parts/facts.tsx';
import { ActionFailure } from '../../parts/notice.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { WorkButton } from '../../parts/buttons.tsx';

export function RecoveryList({
  queue,
  recoveries,
  shown,
  onShow,
  onChanged,
}: {
  queue: string;
  recoveries: readonly RecoveryView[];
  /** The recovery whose result is shown. */
  shown: string | undefined;
  onShow: (id: string) => void;
  onChanged: () => void;
}) {
  return (
    <Table
      caption="Recoveries, newest first"
      columns={[
        ...COLUMNS,
        {
          head: 'Action',
          cell: ({ id, state }) => (
            <span class="actions">
              {id === shown ? null : (
                <button
                  type="button"
                  class="button button-small"
                  onClick={() => {
                    onShow(id);
                  }}
                >
                  Show result
                </button>
              )}
              {state === 'running' ? <Stop queue={queue} id={id} onStopped={onChanged} /> : null}
            </span>
          ),
        },
      ]}
      rows={recoveries}
      keyOf={({ id }) => id}
    />
  );
}

const COLUMNS: readonly Column<RecoveryView>[] = [
  { head: 'Started', cell: ({ createdAt }) => <Moment at={createdAt} /> },
  {
    head: 'Window',
    wide: true,
    cell: ({ since, until, subscription, status }) => (
      <>
        <Moment at={since} /> to <Moment at={until} />
        <span class="sub">
          {status ?? 'all failed deliveries'}
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

function Stop({ queue, id, onStopped }: { queue: string; id: string; onStopped: () => void }) {
  const { api } = useConsole();
  const { action, run } = useAction(async () => {
    await api.call(stopRecovery, { path: { queue, recovery: id } });
    onStopped();
  });
  return (
    <>
      <WorkButton action={action} onClick={run}>
        Stop
      </WorkButton>
      <ActionFailure of={action} />
    </>
  );
}
