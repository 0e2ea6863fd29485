import { useMemo, useState } from 'preact/hooks';
import type { ApiClient, Listed } from '../../../../api-client/api-client.ts';
import {
  countWaitingOfQueue,
  deleteQueue,
  getQueue,
  listDeliveriesOfMessage,
  type ListedMessage,
  listMessages,
  listSubscriptions,
  postMessages,
  type WaitingCount,
} from '../../../../api-client/operations.ts';
import { isNotFound } from '../../../../api-client/refusal.ts';
import { waitingCountText } from '../../../../api-client/waiting.ts';
import { counted } from '../../../../api-client/words.ts';
import { sumOfCounts } from '../../../../shared/domain/delivery/books.ts';
import { completeRetryPolicy, DEFAULT_RETRY_POLICY } from '../../../../shared/domain/retry/policy.ts';
import type { DeliveryView } from '../../../../shared/wire/views/delivery.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/hooks.ts';
import { useLive, useLiveCall, useLiveItems } from '../../live/use-live.ts';
import { ConfirmButton, DialogButton } from '../../parts/dialog.tsx';
import { Facts, Moment, PolicyFacts } from '../../parts/facts.tsx';
import { InputField, jsonFault } from '../../parts/fields.tsx';
import { Form } from '../../parts/form.tsx';
import { Empty, Loaded, Notice } from '../../parts/loaded.tsx';
import { PageHeading, Section } from '../../parts/page-heading.tsx';
import { PauseButtons } from '../../parts/pause.tsx';
import { CommandText, SourceText } from '../../parts/source-text.tsx';
import { Sparkline, type SparkStatus } from '../../parts/status.tsx';
import { PausedState, SubscriptionLink, SubscriptionState } from '../../parts/subscription-text.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { momentText } from '../../parts/time-text.ts';
import { hrefTo } from '../../route.ts';
import { QueueStatistics } from '../../statistics/statistics-charts.tsx';
import { MessageTable, NoMessages } from '../messages/messages-page.tsx';
import { CreateSubscription } from '../subscription/edit-subscription.tsx';
import { DeletedSubscriptions } from './archives.tsx';
import { EditQueue, queuePolicy } from './edit-queue.tsx';
import { MissingQueue } from './page-of-queue.tsx';

const MAX_SUBSCRIPTIONS = 100;
/** Messages whose outcomes are shown for each subscription. */
const RECENT = 20;
const SHOWN_MESSAGES = 8;

export function QueuePage({ queue }: { queue: string }) {
  const { api } = useConsole();
  const readRecent = useMemo(() => recentReader(api, queue), [api, queue]);
  const metadata = useLiveCall(getQueue, { path: { queue } });
  const subscriptions = useLiveItems(listSubscriptions, { path: { queue }, most: MAX_SUBSCRIPTIONS });
  const waiting = useLiveCall(countWaitingOfQueue, { path: { queue } });
  const recent = useLive(`recent/${queue}`, readRecent);
  const isMissing = isNotFound(metadata.failure);
  return (
    <>
      <PageHeading
        title={queue}
        kind="Queue"
        crumbs={[{ text: 'Overview', href: hrefTo({ page: 'overview' }) }]}
      >
        {metadata.value === undefined || isMissing ? null : (
          <>
            <DialogButton text="Edit queue" wide>
              <EditQueue queue={queue} metadata={metadata.value} onDone={metadata.refresh} />
            </DialogButton>
            <PauseButtons
              queue={queue}
              name={`Each subscription of ${queue}`}
              isPaused={waiting.value?.paused !== undefined}
              onDone={() => {
                for (const live of [waiting, subscriptions]) live.refresh();
              }}
            />
            {subscriptions.value === undefined ? null : (
              <DeleteQueue queue={queue} subscriptions={subscriptions.value} />
            )}
          </>
        )}
      </PageHeading>
      {isMissing ? (
        <MissingQueue
          queue={queue}
          onCreated={() => {
            for (const live of [metadata, subscriptions, recent]) live.refresh();
          }}
        />
      ) : (
        <>
          {waiting.value === undefined ? null : <PauseFacts waiting={waiting.value} />}
          <Section
            title="Subscriptions"
            aside={
              <DialogButton text="Create subscription" kind="primary" wide>
                <CreateSubscription queue={queue} onCreated={subscriptions.refresh} />
              </DialogButton>
            }
          >
            <Loaded live={subscriptions}>
              {(listed) => <SubscriptionTable queue={queue} listed={listed} recent={recent.value} />}
            </Loaded>
          </Section>
          <DeletedSubscriptions queue={queue} onRestored={subscriptions.refresh} />
          <QueueStatistics queue={queue} />
          <div class="columns">
            <Section title="Publish a test message">
              {metadata.value === undefined ? null : <Publish queue={queue} onPublished={recent.refresh} />}
            </Section>
            <Section title="Metadata and retry policy">
              <Loaded live={metadata}>{(value) => <QueueMetadata queue={queue} metadata={value} />}</Loaded>
            </Section>
          </div>
          <Section
            title="Newest messages"
            aside={<a href={hrefTo({ page: 'messages', queue, query: {} })}>All messages</a>}
          >
            <Loaded live={recent}>
              {(all) => (
                <MessageTable
                  rows={all.slice(0, SHOWN_MESSAGES).map(({ message }) => message)}
                  empty={<NoMessages queue={queue} />}
                />
              )}
            </Loaded>
          </Section>
        </>
      )}
    </>
  );
}

function PauseFacts({ waiting }: { waiting: WaitingCount }) {
  const { paused } = waiting;
  if (paused === undefined) return null;
  return (
    <div class="section">
      <Facts
        facts={[
          ['State', <PausedState of={paused} />],
          ['Paused since', <Moment at={paused.since} />],
          ['Waiting', waitingCountText(waiting, momentText)],
        ]}
      />
    </div>
  );
}

/** The button that deletes a queue. For a queue with subscriptions the user has to type its name. */
function DeleteQueue({
  queue,
  subscriptions: { items, more },
}: {
  queue: string;
  subscriptions: Listed<SubscriptionView>;
}) {
  const { api } = useConsole();
  const count = more
    ? `more than ${items.length} subscriptions`
    : counted(items.length, 'subscription', 'subscriptions');
  return (
    <ConfirmButton
      text="Delete queue"
      verb="Delete the queue"
      typed={items.length > 0 ? queue : undefined}
      work={async () => {
        await api.call(deleteQueue, { path: { queue } });
        location.hash = hrefTo({ page: 'overview' });
      }}
    >
      {items.length === 0 ? (
        <p>The queue {queue} has no subscriptions.</p>
      ) : (
        <p>
          The queue {queue} has <strong>{count}</strong>. They are deleted with it, and their open deliveries
          are cancelled.
        </p>
      )}
      <p>
        Messages that still arrive for it become dead letters. For some days (the setting archiveDays) it can
        be restored on the overview.
      </p>
    </ConfirmButton>
  );
}

function QueueMetadata({ queue, metadata }: { queue: string; metadata: Record<string, unknown> }) {
  const policy = queuePolicy(metadata);
  return (
    <div class="stack">
      {policy === undefined ? (
        <Facts facts={[['Retry policy', 'none: the deployment’s defaults apply']]} />
      ) : (
        <PolicyFacts policy={completeRetryPolicy(policy, DEFAULT_RETRY_POLICY).policy} />
      )}
      <p>
        <a href={hrefTo({ page: 'designer', query: { queue } })}>Edit the retry policy</a>
      </p>
      <SourceText text={JSON.stringify(metadata, null, 2)} what="the metadata" />
    </div>
  );
}

type Listing = { listed: Listed<SubscriptionView>; recent: readonly RecentMessage[] | undefined };

function SubscriptionTable({ queue, listed, recent }: Listing & { queue: string }) {
  const columns: readonly Column<SubscriptionView>[] = [
    {
      head: 'Subscriber',
      wide: true,
      cell: (subscription) => <SubscriptionLink queue={queue} {...subscription} />,
    },
    { head: 'State', cell: (subscription) => <SubscriptionState of={subscription} /> },
    {
      head: `Last ${RECENT} messages`,
      cell: ({ id }) => (
        <Sparkline places={RECENT} sparks={recent === undefined ? [] : buildSparks(recent, id)} />
      ),
    },
  ];
  return (
    <>
      <Table
        caption={`Subscriptions of ${queue}`}
        columns={columns}
        rows={listed.items}
        keyOf={({ id }) => id}
        empty={<NoSubscriptions queue={queue} />}
      />
      {listed.more ? <p class="muted">Only the first {listed.items.length} are shown.</p> : null}
    </>
  );
}

/** The delivery statuses of one subscription, newest on the right. */
function buildSparks(recent: readonly RecentMessage[], id: string): SparkStatus[] {
  return recent
    .map(
      ({ deliveries }) =>
        deliveries.find(({ subscriptionId }) => subscriptionId === id)?.status ?? ('none' as const),
    )
    .toReversed();
}

function NoSubscriptions({ queue }: { queue: string }) {
  return (
    <Empty title="No subscriptions yet">
      <p>
        Without one, messages of this queue are accepted, match nothing and are not delivered. Their data is
        kept, so that each can be sent from its page once there is one. Subscribe a URL with the button above,
        or run
      </p>
      <CommandText args={`subscription create ${queue} https://hooks.example.com/${queue}`} />
    </Empty>
  );
}

const EXAMPLE = '{\n  "test": true\n}';

/** Publishes one test message to a queue. */
function Publish({ queue, onPublished }: { queue: string; onPublished: () => void }) {
  const { api } = useConsole();
  const [type, setType] = useState('');
  const [data, setData] = useState(EXAMPLE);
  const [published, setPublished] = useState(0);
  const fault = jsonFault(data);
  // The same after a failure: the message may have arrived although the answer was lost, and is then not sent twice.
  const messageId = useMemo(() => crypto.randomUUID(), [type, data, published]);
  const { action, run } = useAction(async () => {
    // The data is sent as typed: parsing and printing it would round big integers.
    const head = type === '' ? '' : `"type":${JSON.stringify(type)},`;
    const body = `{"messages":[{"id":"${messageId}",${head}"body":${data}}]}`;
    const { ids, noSubscription } = await api.call(postMessages, { path: { queue }, body });
    onPublished();
    setPublished(published + 1);
    return { id: ids[0] ?? '', isUnmatched: noSubscription === true };
  });
  return (
    <Form
      action={action}
      ready={fault === undefined}
      verb="Publish"
      onSubmit={run}
      result={action.state === 'done' ? <Published queue={queue} {...action.result} /> : null}
    >
      <InputField
        label="Type"
        hint="Optional. Subscriptions can filter by it."
        placeholder="order.created"
        maxLength={256}
        value={type}
        onValue={setType}
      />
      <InputField
        label="Data"
        hint="Any JSON. Subscribers get it exactly as typed."
        rows={5}
        code
        fault={fault}
        value={data}
        onValue={setData}
      />
    </Form>
  );
}

function Published({ queue, id, isUnmatched }: { queue: string; id: string; isUnmatched: boolean }) {
  return (
    <Notice tone="success" title="Published">
      <p>
        It is recorded within about a second:{' '}
        <a class="id" href={hrefTo({ page: 'message', queue, message: id })}>
          {id}
        </a>
      </p>
      {isUnmatched ? <p>The queue has no active subscription: it matches nothing.</p> : null}
    </Notice>
  );
}

/** A message and its deliveries, at most `MAX_DELIVERIES` of them. */
type RecentMessage = { message: ListedMessage; deliveries: DeliveryView[] };

const MAX_DELIVERIES = 100;

/** Finished deliveries change only on a manual retry or a recovery, so they are read again after a minute. */
const FRESH_MS = 60_000;

type CachedDeliveries = { at: number; counts: string; deliveries: DeliveryView[] };

/** Returns a reader of the newest messages with their deliveries. It caches messages whose deliveries are finished. */
function recentReader(api: ApiClient, queue: string) {
  const cache = new Map<string, CachedDeliveries>();

  const readDeliveries = async (message: ListedMessage, signal: AbortSignal): Promise<DeliveryView[]> => {
    const counts = JSON.stringify([message.deliveries, message.duplicates]);
    const before = cache.get(message.id);
    if (before?.counts === counts && Date.now() - before.at < FRESH_MS) return before.deliveries;
    const path = { queue, message: message.id };
    const listed = await api.items(listDeliveriesOfMessage, { path, most: MAX_DELIVERIES, signal });
    const { items: deliveries } = listed;
    if (isFinished(message)) cache.set(message.id, { at: Date.now(), counts, deliveries });
    return deliveries;
  };

  return async (signal: AbortSignal): Promise<RecentMessage[]> => {
    const { items } = await api.items(listMessages, { path: { queue }, most: RECENT, signal });
    return Promise.all(
      items.map(async (message) => ({ message, deliveries: await readDeliveries(message, signal) })),
    );
  };
}

function isFinished({ matched, deliveries, unfinished }: ListedMessage): boolean {
  if (deliveries === undefined || unfinished === true) return false;
  const { pending, retrying, ...ends } = deliveries;
  return pending + retrying === 0 && sumOfCounts(ends) >= matched;
}
