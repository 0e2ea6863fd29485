import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { getQueue, listSubscriptions } from '../../../../api-client/operations.ts';
import { isNotFound } from '../../../../api-client/refusal.ts';
import { recentReader } from '../../api/recent-deliveries.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useLive } from '../../live/use-live.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { PageHeading } from '../../parts/page-heading.tsx';
import { Section } from '../../parts/section.tsx';
import { hrefTo } from '../../route.ts';
import { MessageTable } from '../messages/message-table.tsx';
import { NoMessages } from '../messages/no-messages.tsx';
import { CreateSubscription } from '../subscription/create-subscription.tsx';
import { DeleteQueue } from './delete-queue.tsx';
import { EditQueue } from './edit-queue.tsx';
import { MissingQueue } from './missing-queue.tsx';
import { Publish } from './publish.tsx';
import { QueueStatistics } from '../../statistics/queue-statistics.tsx';
import { QueueMetadata } from './queue-metadata.tsx';
import { SubscriptionTable } from './subscription-table.tsx';

const MAX_SUBSCRIPTIONS = 100;
const RECENT = 20;
const SHOWN_MESSAGES = 8;

export function QueuePage({ queue }: { queue: string }): JSX.Element {
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
