import { useMemo, useState } from 'preact/hooks';
import { type ConsoleInfo, consoleInfoSchema } from '../../shared/wire/views/console.ts';
import { wordsFor } from './api/failure-words.ts';
import { pageClient } from './api/page-client.ts';
import {
  type ConsoleContext,
  ConsoleProvider,
  findStaleness,
  type Freshness,
  useConsole,
} from './live/console-context.tsx';
import { useLoaded, useNow, useRoute } from './live/hooks.ts';
import { BooksPage } from './pages/books/books-page.tsx';
import { DeadLettersPage } from './pages/dead-letters/dead-letters-page.tsx';
import { DeliveriesPage } from './pages/deliveries/deliveries-page.tsx';
import { DeliveryPage } from './pages/delivery/delivery-page.tsx';
import { DesignerPage } from './pages/designer/designer-page.tsx';
import { MessagePage } from './pages/message/message-page.tsx';
import { MessagesPage } from './pages/messages/messages-page.tsx';
import { OverviewPage } from './pages/overview/overview-page.tsx';
import { QueueChoice } from './pages/queue/page-of-queue.tsx';
import { QueuePage } from './pages/queue/queue-page.tsx';
import { RecoveryPage } from './pages/recovery/recovery-page.tsx';
import { SubscriptionPage } from './pages/subscription/subscription-page.tsx';
import { Failure, Notice } from './parts/loaded.tsx';
import { PageHeading } from './parts/page-heading.tsx';
import { clockText, relativeText } from './parts/time-text.ts';
import { hrefTo, type Route } from './route.ts';
import type { SessionToken } from './session-token.ts';
import { Masthead, QueueNavigation } from './shell/masthead.tsx';

export function App({ token }: { token: SessionToken }) {
  const route = useRoute();
  const api = useMemo(() => pageClient(token), [token]);
  const [freshness] = useState(() => new Map<object, Freshness>());
  const { value: info, failure } = useLoaded(() => api.local('/info', consoleInfoSchema));
  const context = useMemo((): ConsoleContext => ({ api, info, freshness }), [api, info, freshness]);

  return (
    <ConsoleProvider value={context}>
      <a class="skip" href="#content" onClick={toContent}>
        Skip to content
      </a>
      <Masthead info={info} route={route} />
      <QueueNavigation route={route} />
      <main id="content" tabIndex={-1}>
        <StaleNotice />
        {failure === undefined ? null : <Failure of={failure} />}
        {info === undefined ? null : <DeploymentNotice info={info} />}
        {failure === undefined ? <CurrentPage route={route} /> : null}
      </main>
    </ConsoleProvider>
  );
}

/** The part of the address behind the `#` is the route, so the link moves the focus itself. */
function toContent(event: Event): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

function DeploymentNotice({ info }: { info: ConsoleInfo }) {
  const { problem, version, commandVersion } = info;
  if (problem?.code === 'no_deployment') {
    const { title, detail, advice } = wordsFor(problem);
    return (
      <Notice tone="warning" title={title}>
        <p>{detail}</p>
        <p>{advice}</p>
      </Notice>
    );
  }
  if (problem !== undefined) {
    return <Notice tone="warning" title={problem.message} />;
  }
  if (version === null || version === commandVersion) return null;
  return (
    <Notice tone="warning" title="Different versions">
      <p>
        The deployment runs version {version}, this console is version {commandVersion}. Features that one of
        them lacks are hidden or rejected.
      </p>
    </Notice>
  );
}

/** How old the page is while its polling fails or is behind. Not a live region: it changes every second. */
function StaleNotice() {
  const { freshness } = useConsole();
  const now = useNow();
  const stale = findStaleness(freshness.values(), now);
  if (stale === undefined) return null;
  const { readAt, dueAt } = stale;
  return (
    <p class="stale">
      As of {clockText(readAt, { now, exact: false })}, {relativeText(readAt, now)}
      {dueAt === undefined ? '' : `; trying again ${dueAt > now ? relativeText(dueAt, now) : 'now'}`}.
    </p>
  );
}

/** The page of the route. The key remounts a page when its subject changes. */
function CurrentPage({ route }: { route: Route }) {
  switch (route.page) {
    case 'overview':
      return <OverviewPage />;
    case 'queue':
      return <QueuePage key={route.queue} queue={route.queue} />;
    case 'subscription':
      return <SubscriptionPage key={hrefTo(route)} queue={route.queue} id={route.subscription} />;
    case 'messages':
      return <MessagesPage key={hrefTo(route)} queue={route.queue} query={route.query} />;
    case 'message':
      return <MessagePage key={hrefTo(route)} queue={route.queue} id={route.message} />;
    case 'deliveries':
      return <DeliveriesPage key={hrefTo(route)} queue={route.queue} query={route.query} />;
    case 'delivery':
      return <DeliveryPage key={hrefTo(route)} address={route} />;
    case 'recovery':
      return route.queue === undefined ? (
        <QueueChoice title="Recovery" page="recovery" />
      ) : (
        <RecoveryPage key={hrefTo(route)} queue={route.queue} query={route.query} />
      );
    case 'books':
      return route.queue === undefined ? (
        <QueueChoice title="Reconciliation" page="books" />
      ) : (
        <BooksPage key={hrefTo(route)} queue={route.queue} query={route.query} />
      );
    case 'designer':
      return <DesignerPage key={hrefTo(route)} query={route.query} />;
    case 'dead-letters':
      return <DeadLettersPage key={hrefTo(route)} query={route.query} />;
    case 'unknown':
      return (
        <>
          <PageHeading title="Page not found" />
          <p>
            <a href={hrefTo({ page: 'overview' })}>Back to the overview</a>
          </p>
        </>
      );
  }
}
