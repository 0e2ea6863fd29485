import { useRef } from 'preact/hooks';
import {
  type Look,
  lostText,
  OUTCOMES_UNKNOWN,
  readOutcomes,
  sumOutcomes,
  timeLeft,
} from '../../../api-client/recovery-progress.ts';
import { counted } from '../../../api-client/words.ts';
import type { RecoveryOutcomes } from '../../../shared/domain/recovery/outcomes.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import type { RecoveryView } from '../../../shared/wire/views/recovery.ts';
import { usePage } from '../live/page-context.tsx';
import { useLive } from '../live/use-live.ts';
import { Moment } from './facts.tsx';
import { Loaded } from './loaded.tsx';
import { SubscriptionLink } from './subscription-text.tsx';
import { type Column, Table } from './table.tsx';

type ShownRecovery = {
  recovery: RecoveryView;
  /** Names or URLs of subscriptions by id. */
  names: ReadonlyMap<string, string>;
};

/** A recovery, and what became of the deliveries that it reopened, per subscription. */
export function RecoveryResult({ recovery, names }: ShownRecovery) {
  const { api } = usePage();
  const { queue, id, createdAt, state } = recovery;
  const result = useLive(
    `outcomes/${queue}/${id}`,
    async (signal) => (await readOutcomes(api, { queue, id }, signal)) ?? null,
  );
  return (
    <>
      <p>
        Recovery started <Moment at={createdAt} />, {state}
      </p>
      <Loaded live={result}>
        {(outcomes) =>
          outcomes === null ? (
            <p>{OUTCOMES_UNKNOWN}</p>
          ) : (
            <Outcomes recovery={recovery} outcomes={outcomes} names={names} />
          )
        }
      </Loaded>
    </>
  );
}

function Outcomes({ recovery, names, outcomes }: ShownRecovery & { outcomes: readonly RecoveryOutcomes[] }) {
  const { queue, state } = recovery;
  const last: Look = { at: Date.now(), outcomes };
  const first = useRef(last);
  const { total, delivered, failed, open } = sumOutcomes(outcomes);
  const left = state === 'running' ? 'looking for more' : timeLeft(first.current, last);
  const found = [
    `${delivered.toLocaleString('en')} of ${counted(total, 'delivery', 'deliveries')} delivered`,
    `${failed.toLocaleString('en')} failed again`,
    `${open.toLocaleString('en')} open`,
    ...(left === undefined ? [] : [left]),
  ].join(', ');
  const sums = total === 0 && state === 'running' ? 'Looking for deliveries' : found;
  const lost = lostText(recovery, outcomes);
  return (
    <div class="stack">
      <label class="progress">
        <span>{sums}</span>
        <progress max={Math.max(1, total)} value={delivered + failed} />
      </label>
      <Table
        caption="What became of the deliveries of this recovery"
        columns={buildColumns(queue, names)}
        rows={outcomes}
        keyOf={({ subscriptionId }) => subscriptionId}
        empty={null}
      />
      {lost === undefined ? null : <p>{lost}</p>}
    </div>
  );
}

function buildColumns(queue: string, names: ShownRecovery['names']): Column<RecoveryOutcomes>[] {
  return [
    {
      head: 'Subscription',
      wide: true,
      cell: ({ subscriptionId }) => (
        <SubscriptionLink queue={queue} id={subscriptionId} name={names.get(subscriptionId)} />
      ),
    },
    { head: 'Total', numeric: true, cell: ({ total }) => total.toLocaleString('en') },
    { head: 'Delivered', numeric: true, cell: ({ delivered }) => delivered.toLocaleString('en') },
    {
      head: 'Failed again',
      numeric: true,
      cell: ({ failed }) =>
        failed === 0 ? '0' : <span class="tone-rejected">{failed.toLocaleString('en')}</span>,
    },
    { head: 'Open', numeric: true, cell: ({ open }) => open.toLocaleString('en') },
    {
      head: 'Next attempt',
      cell: ({ nextAttemptAt }) =>
        nextAttemptAt === undefined ? '' : <Moment at={timeText(nextAttemptAt)} />,
    },
  ];
}
