import type { DeliveryDetail } from '../../../../api-client/operations.ts';
import { STARTED_BY } from '../../../../shared/wire/views/delivery.ts';
import { Moment } from '../../parts/facts.tsx';
import { Status } from '../../parts/status.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { durationText } from '../../parts/time-text.ts';

type Attempt = DeliveryDetail['attempts'][number];

/** The attempts of a delivery, newest first. */
export function AttemptTable({ attempts }: { attempts: readonly Attempt[] }) {
  const severalRounds = attempts.some(({ round }) => round > 1);
  return (
    <Table
      caption="Attempts, newest first"
      columns={severalRounds ? [ROUND, ...COLUMNS] : COLUMNS}
      rows={attempts.toReversed()}
      keyOf={({ round, number, startedAt }) => `${round} ${number} ${startedAt}`}
    />
  );
}

const ROUND: Column<Attempt> = { head: 'Round', numeric: true, cell: ({ round }) => round };

const COLUMNS: readonly Column<Attempt>[] = [
  { head: 'Attempt', numeric: true, cell: ({ number }) => number },
  { head: 'Outcome', cell: ({ outcome }) => <Status of={outcome} /> },
  { head: 'Phase', cell: ({ phase }) => phase.replace('_', ' ') },
  { head: 'Due', cell: ({ dueAt }) => (dueAt === undefined ? '' : <Moment at={dueAt} exact />) },
  {
    head: 'Started',
    cell: ({ startedAt, dueAt }) => (
      <>
        <Moment at={startedAt} exact />
        {dueAt === undefined ? null : (
          <span class="sub">{lateText(Date.parse(startedAt) - Date.parse(dueAt))}</span>
        )}
      </>
    ),
  },
  { head: 'Started by', cell: ({ by }) => (by === undefined ? '' : STARTED_BY[by]) },
  { head: 'Duration', numeric: true, cell: ({ durationMs }) => durationText(durationMs) },
  {
    head: 'Response',
    wide: true,
    cell: ({ statusCode, error, snippet, lost }) => (
      <>
        <strong>{statusCode ?? error ?? ''}</strong>
        {lost === undefined ? null : <span class="sub">started {lost} more times without a result</span>}
        {snippet === undefined || snippet === '' ? null : <code class="snippet">{snippet}</code>}
      </>
    ),
  },
];

function lateText(lateMs: number): string {
  return lateMs < 1 ? 'on time' : `${durationText(lateMs)} late`;
}
