import { type DeliveryAddress, deliveryPath } from '../../../../api-client/deliveries.ts';
import {
  cancelDelivery,
  type DeliveryDetail,
  getDelivery,
  getSubscription,
  retryDelivery,
} from '../../../../api-client/operations.ts';
import { formatLabel } from '../../../../api-client/subscription-labels.ts';
import { waitsSoFar, waitsText } from '../../../../api-client/words.ts';
import { isOpenStatus } from '../../../../shared/domain/delivery/vocabulary.ts';
import { STARTED_BY, WAITS } from '../../../../shared/wire/views/delivery.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useNow, useAction } from '../../live/hooks.ts';
import { useLive } from '../../live/use-live.ts';
import { WorkButton } from '../../parts/form.tsx';
import { Facts, Moment, PolicyFacts } from '../../parts/facts.tsx';
import { Loaded, ActionFailure, Empty } from '../../parts/loaded.tsx';
import { crumbTo, PageHeading, Section } from '../../parts/page-heading.tsx';
import { Status } from '../../parts/status.tsx';
import { SubscriptionState } from '../../parts/subscription-text.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { durationText, relativeText } from '../../parts/time-text.ts';
import { hrefTo } from '../../route.ts';
import { RequestSection } from './request-section.tsx';
import { Timeline } from './timeline.tsx';

export function DeliveryPage({ address }: { address: DeliveryAddress }) {
  const { api } = useConsole();
  const { queue, messageId } = address;
  const delivery = useLive(`delivery/${JSON.stringify(address)}`, (signal) =>
    api.call(getDelivery, { ...deliveryPath(address), signal }),
  );
  return (
    <>
      <PageHeading
        title={messageId}
        kind="Delivery of"
        crumbs={[
          crumbTo(queue),
          { text: 'Message', href: hrefTo({ page: 'message', queue, message: messageId }) },
        ]}
      >
        {delivery.value === undefined ? null : (
          <DeliveryActions address={address} delivery={delivery.value} onDone={delivery.refresh} />
        )}
      </PageHeading>
      <Receiver address={address} />
      <Loaded live={delivery} lines={10}>
        {(value) => <Report delivery={value} />}
      </Loaded>
      {delivery.value === undefined ? null : <RequestSection address={address} />}
    </>
  );
}

function Receiver({ address: { queue, subscriptionId } }: { address: DeliveryAddress }) {
  const { api } = useConsole();
  // Without a value where the subscription is deleted: its id is then all that is known.
  const { value } = useLive(`subscription/${queue}/${subscriptionId}`, () =>
    api.call(getSubscription, { path: { queue, subscription: subscriptionId } }),
  );
  const href = hrefTo({ page: 'subscription', queue, subscription: subscriptionId });
  if (value === undefined)
    return (
      <p>
        to the subscription{' '}
        <a class="id" href={href}>
          {subscriptionId}
        </a>
      </p>
    );
  return (
    <p>
      to{' '}
      <a class="url strong" href={href}>
        {formatLabel(value)}
      </a>{' '}
      <span class="muted id">{subscriptionId}</span> <SubscriptionState of={value} />
    </p>
  );
}

const SOURCES = {
  delivery: 'fixed when this delivery first failed',
  subscription: 'the subscription',
  queue: 'the queue',
  defaults: 'the deployment’s defaults',
} as const;

function Report({ delivery }: { delivery: DeliveryDetail }) {
  const { attempts, planned, lateResults = [], policy, policySource } = delivery;
  return (
    <>
      <DeliveryFacts of={delivery} />
      <Section title="Timeline">
        <Timeline delivery={delivery} />
      </Section>
      <Section title="Attempts">
        <AttemptTable attempts={attempts} />
      </Section>
      {planned.length === 0 ? null : (
        <Section title="Planned retries">
          <p class="muted">
            The schedule if every attempt starts when it is due and fails at once.
            {delivery.nextAttempt?.waiting === 'paused' ? ' The pause delays it.' : ''}
          </p>
          <PlannedTable planned={planned} />
        </Section>
      )}
      {lateResults.length === 0 ? null : (
        <Section title="Late results">
          <p class="muted">
            These results arrived after another invocation had taken over the attempt. They are not counted as
            attempts.
          </p>
          <AttemptTable attempts={lateResults} />
        </Section>
      )}
      <Section title="Retry policy">
        <p>
          Source: <strong>{SOURCES[policySource]}</strong>.
        </p>
        <PolicyFacts policy={policy} />
      </Section>
    </>
  );
}

function DeliveryFacts({ of }: { of: DeliveryDetail }) {
  const { status, reason, acceptedAt, attempts, nextAttempt, planned } = of;
  const now = useNow();
  return (
    <Facts
      facts={[
        ['Status', <Status of={status} reason={reason} />],
        ['Accepted', acceptedAt && <Moment at={acceptedAt} exact />],
        ['Attempts', attempts.length],
        ['Next attempt', nextAttempt && <NextAttempt of={nextAttempt} />],
        ['Waited so far', nextAttempt && waitsText(waitsSoFar(nextAttempt, now))],
        ['Further planned retries', planned.length > 1 ? planned.length - 1 : undefined],
      ]}
    />
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

/** The buttons that retry and cancel a delivery. */
function DeliveryActions({
  address,
  delivery: { status },
  onDone,
}: {
  address: DeliveryAddress;
  delivery: DeliveryDetail;
  onDone: () => void;
}) {
  const { api } = useConsole();
  const call = (operation: typeof retryDelivery | typeof cancelDelivery) => async () => {
    await api.call(operation, deliveryPath(address));
    onDone();
  };
  const [retry, cancel] = [useAction(call(retryDelivery)), useAction(call(cancelDelivery))];
  const canBeCancelled = isOpenStatus(status);
  return (
    <>
      <WorkButton action={retry.action} kind="primary" onClick={retry.run}>
        {canBeCancelled ? 'Retry now' : 'Deliver again'}
      </WorkButton>
      {canBeCancelled ? (
        <WorkButton action={cancel.action} kind="danger" onClick={cancel.run}>
          Cancel delivery
        </WorkButton>
      ) : null}
      <ActionFailure of={retry.action} />
      <ActionFailure of={cancel.action} />
    </>
  );
}

type Planned = DeliveryDetail['planned'][number];

function PlannedTable({ planned }: { planned: readonly Planned[] }) {
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

type Attempt = DeliveryDetail['attempts'][number];

/** The attempts of a delivery, newest first. */
function AttemptTable({ attempts }: { attempts: readonly Attempt[] }) {
  const severalRounds = attempts.some(({ round }) => round > 1);
  return (
    <Table
      caption="Attempts, newest first"
      columns={severalRounds ? [ROUND, ...COLUMNS] : COLUMNS}
      rows={attempts.toReversed()}
      keyOf={({ round, number, startedAt }) => `${round} ${number} ${startedAt}`}
      empty={<Empty title="No finished attempt yet" />}
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

/** Its waits, which include the lag, or by how much it was late. */
function punctuality({ startedAt, dueAt, waited }: Attempt): string[] {
  const waits = waitsText(waited);
  if (waits !== undefined) return waits.split(', ').map((text) => `waited ${text}`);
  return dueAt === undefined ? [] : [lateText(Date.parse(startedAt) - Date.parse(dueAt))];
}

function lateText(lateMs: number): string {
  return lateMs < 1 ? 'on time' : `${durationText(lateMs)} late`;
}
