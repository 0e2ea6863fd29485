import type { DeliveryDetail } from '../../../api-client/operations.ts';
import { findInFlight, waitsSoFar, waitsText } from '../../../api-client/words.ts';
import { STARTED_BY, WAITS } from '../../../shared/wire/views/delivery.ts';
import { useNow } from '../live/hooks.ts';
import { Facts, Moment, PolicyFacts } from '../parts/facts.tsx';
import { Empty } from '../parts/loaded.tsx';
import { Section } from '../parts/page-heading.tsx';
import { Status } from '../parts/status.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { durationText, relativeText } from '../parts/time-text.ts';
import { Timeline } from './timeline.tsx';

const SOURCES = {
  delivery: 'fixed when this delivery first failed',
  subscription: 'the subscription',
  queue: 'the queue',
  defaults: 'the deployment’s defaults',
} as const;

/** The facts, timeline, attempts and policy of a delivery. */
export function DeliveryReport({
  delivery,
  isForOperator = true,
}: {
  delivery: DeliveryDetail;
  /** Shows what started each attempt, and where the policy is set. */
  isForOperator?: boolean;
}) {
  const { attempts, lateResults = [], policy, policySource } = delivery;
  const now = useNow();
  // The first planned attempt may be the one that is being made.
  const inFlight = findInFlight(delivery, now);
  const planned = delivery.planned.slice(inFlight === undefined ? 0 : 1);
  return (
    <>
      <DeliveryFacts of={{ ...delivery, planned }} inFlight={inFlight} now={now} />
      <Section title="Timeline">
        <Timeline delivery={{ ...delivery, planned }} />
      </Section>
      <Section title="Attempts">
        <AttemptTable attempts={attempts} isForOperator={isForOperator} />
      </Section>
      <PlannedRetries planned={planned} now={now} isPaused={delivery.nextAttempt?.waiting === 'paused'} />
      {lateResults.length === 0 ? null : (
        <Section title="Late results">
          <p class="muted">
            These results arrived after another invocation had taken over the attempt. They are not counted as
            attempts.
          </p>
          <AttemptTable attempts={lateResults} isForOperator={isForOperator} />
        </Section>
      )}
      <Section title="Retry policy">
        {isForOperator ? (
          <p>
            Source: <strong>{SOURCES[policySource]}</strong>.
          </p>
        ) : null}
        <PolicyFacts policy={policy} />
      </Section>
    </>
  );
}

type InFlightAttempt = NonNullable<DeliveryDetail['inFlight']>;

function DeliveryFacts({
  of: { status, reason, acceptedAt, attempts, nextAttempt, planned },
  inFlight,
  now,
}: {
  of: DeliveryDetail;
  inFlight: InFlightAttempt | undefined;
  now: number;
}) {
  const next = inFlight === undefined ? nextAttempt : undefined;
  return (
    <Facts
      facts={[
        ['Status', <Status of={status} reason={reason} />],
        ['Accepted', acceptedAt && <Moment at={acceptedAt} exact />],
        ['Attempts', attempts.length],
        ['In flight', inFlight && <InFlight of={inFlight} />],
        ['Next attempt', next && <NextAttempt of={next} />],
        ['Waited so far', next && waitsText(waitsSoFar(next, now))],
        ['Planned retries', planned.length > 0 ? planned.length : undefined],
      ]}
    />
  );
}

function InFlight({ of: { since, until } }: { of: InFlightAttempt }) {
  return (
    <>
      since <Moment at={since} />, until <Moment at={until} /> at the latest
    </>
  );
}

/** A paused delivery is past its due time. */
function NextAttempt({ of: { dueAt, phase, waiting } }: { of: NonNullable<DeliveryDetail['nextAttempt']> }) {
  return (
    <>
      {waiting === 'paused' ? null : <Moment at={dueAt} exact />}{' '}
      <span class="muted">{waiting === undefined ? phase.replace('_', ' ') : `waits ${WAITS[waiting]}`}</span>
    </>
  );
}

type Planned = DeliveryDetail['planned'][number];

type PlannedRetriesProps = {
  planned: readonly Planned[];
  now: number;
  isPaused: boolean;
};

function PlannedRetries({ planned, now, isPaused }: PlannedRetriesProps) {
  if (planned.length === 0) return null;
  const columns: readonly Column<Planned>[] = [
    { head: 'Attempt', numeric: true, cell: ({ number }) => number },
    { head: 'Phase', cell: ({ phase }) => phase.replace('_', ' ') },
    { head: 'Due', wide: true, cell: ({ dueAt }) => <Moment at={dueAt} exact /> },
    { head: 'From now', cell: ({ dueAt }) => relativeText(Date.parse(dueAt), now) },
  ];
  return (
    <Section title="Planned retries">
      <p class="muted">
        The schedule if every attempt starts when it is due and fails at once.
        {isPaused ? ' The pause delays it.' : ''}
      </p>
      <Table
        caption="Planned retries if every attempt fails at once"
        columns={columns}
        rows={planned}
        keyOf={({ number }) => String(number)}
      />
    </Section>
  );
}

type Attempt = DeliveryDetail['attempts'][number];

/** The attempts of a delivery, newest first. */
function AttemptTable({ attempts, isForOperator }: { attempts: readonly Attempt[]; isForOperator: boolean }) {
  const severalRounds = attempts.some(({ round }) => round > 1);
  const columns = isForOperator ? COLUMNS : COLUMNS.filter((column) => column !== STARTED);
  return (
    <Table
      caption="Attempts, newest first"
      columns={severalRounds ? [ROUND, ...columns] : columns}
      rows={attempts.toReversed()}
      keyOf={({ round, number, startedAt }) => `${round} ${number} ${startedAt}`}
      empty={<Empty title="No finished attempt yet" />}
    />
  );
}

const ROUND: Column<Attempt> = { head: 'Round', numeric: true, cell: ({ round }) => round };

const STARTED: Column<Attempt> = {
  head: 'Started by',
  cell: ({ by }) => (by === undefined ? '' : STARTED_BY[by]),
};

const COLUMNS: readonly Column<Attempt>[] = [
  { head: 'Attempt', numeric: true, cell: ({ number }) => number },
  { head: 'Outcome', cell: ({ outcome }) => <Status of={outcome} /> },
  { head: 'Phase', cell: ({ phase }) => phase.replace('_', ' ') },
  { head: 'Due', cell: ({ dueAt }) => (dueAt === undefined ? '' : <Moment at={dueAt} exact />) },
  {
    head: 'Started',
    cell: (attempt) => (
      <>
        <Moment at={attempt.startedAt} exact />
        {punctuality(attempt).map((text) => (
          <span key={text} class="sub">
            {text}
          </span>
        ))}
      </>
    ),
  },
  STARTED,
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

/** Its waits, which include the lag, or by how much it was late. */
function punctuality({ startedAt, dueAt, waited }: Attempt): string[] {
  const waits = waitsText(waited);
  if (waits !== undefined) return waits.split(', ').map((text) => `waited ${text}`);
  return dueAt === undefined ? [] : [lateText(Date.parse(startedAt) - Date.parse(dueAt))];
}

function lateText(lateMs: number): string {
  return lateMs < 1 ? 'on time' : `${durationText(lateMs)} late`;
}
