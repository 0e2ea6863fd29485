import { useMemo } from 'preact/hooks';
import { getQueue, listSubscriptions, deleteQueue } from '../../../../api-client/operations.ts';
import { isNotFound } from '../../../../api-client/refusal.ts';
import { recentReader } from '../../api/recent-deliveries.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useLive } from '../../live/use-live.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { PageHeading, Section } from '../../parts/page-heading.tsx';
import { hrefTo } from '../../route.ts';
import { MessageTable, NoMessages } from '../messages/messages-page.tsx';
import { CreateSubscription } from '../subscription/edit-subscription.tsx';
import { EditQueue } from './edit-queue.tsx';
import { MissingQueue } from './page-of-queue.tsx';
import { Publish } from './publish.tsx';
import { QueueStatistics } from '../../statistics/statistics-charts.tsx';
import { SubscriptionTable } from './subscription-table.tsx';
import type { Listed } from '../../../../api-client/api-client.ts';
import { counted } from '../../../../api-client/words.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { ConfirmButton } from '../../parts/confirm-button.tsx';
import { completeRetryPolicy, DEFAULT_RETRY_POLICY } from '../../../../shared/domain/retry/policy.ts';
import { Facts, PolicyFacts } from '../../parts/facts.tsx';
import { SourceText } from '../../parts/source-text.tsx';
import { queuePolicy } from './queue-draft.ts';

const MAX_SUBSCRIPTIONS = 100;
const RECENT = 20;
const SHOWN_MESSAGES = 8;

export function QueuePage({ queue }: { queue: string }) {
  const { api } = useConsole();
  const readRecent = useMemo(() => recentReader(api, queue), [api, queue]);
  const metadata = useLive(`queue/${queue}`, (signal) => api.call(getQueue, { path: { queue }, signal }));
  const subscriptions = useLive(`subscriptions/${queue}`, () =>
    api.items(listSubscriptions, { path: { queue }, most: MAX_SUBSCRIPTIONS }),
  );
  const recent = useLive(`recent/${queue}`, (signal) => readRecent(RECENT, signal));
  const heading = {
    title: queue,
    kind: 'Queue',
    crumbs: [{ text: 'Overview', href: hrefTo({ page: 'overview' }) }],
  };

  if (isNotFound(metadata.failure))
    return (
      <>
        <PageHeading {...heading} />
        <MissingQueue
          queue={queue}
          onCreated={() => {
            for (const live of [metadata, subscriptions, recent]) live.refresh();
          }}
        />
      </>
    );
  return (
    <>
      <PageHeading {...heading}>
        {metadata.value === undefined ? null : (
          <>
            <EditQueue queue={queue} metadata={metadata.value} onDone={metadata.refresh} />
            {subscriptions.value === undefined ? null : (
              <DeleteQueue queue={queue} subscriptions={subscriptions.value} />
            )}
          </>
        )}
      </PageHeading>
      <Section
        title="Subscriptions"
        aside={<CreateSubscription queue={queue} onCreated={subscriptions.refresh} />}
      >
        <Loaded live={subscriptions}>
          {(listed) => <SubscriptionTable queue={queue} listed={listed} recent={recent.value} />}
        </Loaded>
      </Section>
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
          {(all) =>
            all.length === 0 ? (
              <NoMessages queue={queue} />
            ) : (
              <MessageTable messages={all.slice(0, SHOWN_MESSAGES).map(({ message }) => message)} />
            )
          }
        </Loaded>
      </Section>
    </>
  );
}

/** The button that deletes a queue. For a queue with subscriptions the user has to type its name. */
export function DeleteQueue({
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
      <p>Messages that still arrive for it become dead letters.</p>
    </ConfirmButton>
  );
}

export function QueueMetadata({ queue, metadata }: { queue: string; metadata: Record<string, unknown> }) {
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
