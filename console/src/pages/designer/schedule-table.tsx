import type { JSX } from 'preact';
import type { RetryPolicy } from '../../../../shared/domain/retry/policy.ts';
import { retrySchedule, type Retry } from '../../../../shared/domain/retry/schedule.ts';
import { Table, type Column } from '../../parts/table.tsx';
import { durationText } from '../../parts/time-text.ts';
import { runningTotal } from './schedule-series.ts';

type Row = Retry & { totalSeconds: number };

/** The schedule as a table. */
export function ScheduleTable({ policy }: { policy: RetryPolicy }): JSX.Element {
  const retries = retrySchedule(policy);
  const totals = runningTotal(retries.map(({ delaySeconds }) => delaySeconds));
  return (
    <details>
      <summary>Schedule as a table</summary>
      <Table
        caption="Retries, their delays, and the time since the first attempt"
        columns={COLUMNS}
        rows={retries.map((retry, index): Row => ({ ...retry, totalSeconds: totals[index] ?? 0 }))}
        keyOf={({ retry }) => String(retry)}
      />
    </details>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { head: 'Retry', numeric: true, cell: ({ retry }) => retry },
  { head: 'Phase', wide: true, cell: ({ phase }) => phase.replace('_', ' ') },
  { head: 'Delay', numeric: true, cell: ({ delaySeconds }) => durationText(delaySeconds * 1000) },
  {
    head: 'Since the first attempt',
    numeric: true,
    cell: ({ totalSeconds }) => durationText(totalSeconds * 1000),
  },
];
