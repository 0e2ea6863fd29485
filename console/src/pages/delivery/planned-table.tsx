import type { JSX } from 'preact';
import type { DeliveryDetail } from '../../../../api-client/operations.ts';
import { useNow } from '../../live/use-now.ts';
import { Moment } from '../../parts/moment.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { relativeText } from '../../parts/time-text.ts';

type Planned = DeliveryDetail['planned'][number];

export function PlannedTable({ planned }: { planned: readonly Planned[] }): JSX.Element {
  const now = useNow();
  const columns: readonly Column<Planned>[] = [
    { head: 'Attempt', numeric: true, cell: ({ number }) => number },
    { head: 'Phase', cell: ({ phase }) => phase.replace('_', ' ') },
    { head: 'Due', wide: true, cell: ({ dueAt }) => <Moment at={dueAt} exact /> },
    { head: 'From now', cell: ({ dueAt }) => relativeText(Date.parse(dueAt), now) },
  ];
  return (
    <Table
      caption="Planned retries if every attempt fails at once"
      columns={columns}
      rows={planned}
      keyOf={({ number }) => String(number)}
    />
  );
}
