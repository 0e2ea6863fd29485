import { useMemo, useState } from 'preact/hooks';
import { type ConsoleInfo, consoleInfoSchema } from '../../shared/wire/views/console.ts';
import { ApiRefusal } from '../../api-client/refusal.ts';
import { failureWords, wordsFor } from './api/failure-words.ts';
import { consoleClient } from './api/console-client.ts';
import { type ConsoleContext, ConsoleProvider } from './live/console-context.tsx';
import { useHash, useLoaded } from './live/hooks.ts';
import { type PageContext, PageProvider } from './live/page-context.tsx';
import { BooksPage } from './pages/books/books-page.tsx';
import { DeadLettersPage } from './pages/dead-letters/dead-letters-page.tsx';
import { DeliveriesPage } from './pages/deliveries/deliveries-page.tsx';
import { DeliveryPage } from './pages/delivery/delivery-page.tsx';
import { DesignerPage } from './pages/designer/designer-page.tsx';
import { EventTypePage, EventTypesPage } from './pages/event-types/event-types-page.tsx';
import { MessagePage } from './pages/message/message-page.tsx';
import { MessagesPage } from './pages/messages/messages-page.tsx';
import { OverviewPage } from './pages/overview/overview-page.tsx';
import { QueueChoice } from './pages/queue/page-of-queue.tsx';
import { QueuePage } from './pages/queue/queue-page.tsx';
import { RecoveryPage } from './pages/recovery/recovery-page.tsx';
import { SubscriptionPage } from './pages/subscription/subscription-page.tsx';
import { PageFrame } from './parts/frame.tsx';
import { Failure, FailureNotice, Notice } from './parts/loaded.tsx';
import { PageHeading } from './parts/page-heading.tsx';
import { hrefTo, parseRoute, type Route } from './route.ts';
import type { SessionToken } from './session-token.ts';
import { Masthead, QueueNavigation } from './shell/masthead.tsx';

/** Seconds. The same as in `deliveries watch`. */
const POLLING = { floor: 1, ceiling: 10 };

export function App({ token }: { token: SessionToken }) {
  const route = parseRoute(useHash());
  const [ended, setEnded] = useState<ApiRefusal>();
  const api = useMemo(() => consoleClient(token, setEnded), [token]);
  const { value: info, failure } = useLoaded(() => api.local('/info', consoleInfoSchema));
  const context = useMemo((): ConsoleContext => ({ api, info }), [api, info]);
  const [freshness] = useState((): PageContext['freshness'] => new Map());
  const page = useMemo((): PageContext => {
    // Shown once above every page: the end of the session, and a missing deployment; either response may arrive first.
    const isShown = ({ code }: ApiRefusal): boolean =>
      code === 'token_refused' || (code === 'no_deployment' && typeof info?.deployment !== 'string');
    const explain: PageContext['explain'] = (of) =>
      of instanceof ApiRefusal && isShown(of) ? undefined : failureWords(of);
    return { api, site: 'Posthaste', polling: POLLING, explain, freshness };
  }, [api, info, freshness]);

  return (
    <PageProvider value={page}>
      <ConsoleProvider value={context}>
        <PageFrame
          head={
            <>
              <Masthead info={info} route={route} />
              <QueueNavigation route={route} />
            </>
          }
        >
          {ended === undefined ? null : <FailureNotice words={failureWords(ended)} />}
          {failure === undefined ? null : <Failure of={failure} />}
          {info === undefined ? null : <DeploymentNotice info={info} />}
          {failure === undefined ? <CurrentPage route={route} /> : null}
        </PageFrame>
      </ConsoleProvider>
    </PageProvider>
  );
}

function DeploymentNotice({ info }: { info: ConsoleInfo }) {
  const { problem, version, commandVersion } = info;
  if (problem !== undefined) {
    const { title, detail, advice } = wordsFor(problem);
    return (
      <Notice tone="warning" title={title}>
        <p>{detail}</p>
        <p>{advice}</p>
      </Notice>
    );
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
    case 'event-types':
      return <EventTypesPage />;
    case 'event-type':
      return <EventTypePage key={route.type} name={route.type} />;
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
