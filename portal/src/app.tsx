import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { useAction, useHash } from '../../console/src/live/hooks.ts';
import { type PageContext, PageProvider, usePage } from '../../console/src/live/page-context.tsx';
import { useLive } from '../../console/src/live/use-live.ts';
import { WorkButton } from '../../console/src/parts/form.tsx';
import { PageFrame } from '../../console/src/parts/frame.tsx';
import { LinkBar, PageHeading } from '../../console/src/parts/page-heading.tsx';
import { hrefTo } from '../../console/src/route.ts';
import { applyAccent } from './accent.ts';
import { reportHeight } from './embedding.ts';
import { readCatalogue } from './event-types.ts';
import { DeliveryPage } from './pages/delivery-page.tsx';
import { EndpointPage } from './pages/endpoint-page.tsx';
import { EndpointsPage } from './pages/endpoints-page.tsx';
import { EventTypesPage } from './pages/event-types-page.tsx';
import { portalClient, portalWords } from './portal-client.ts';
import { type PortalContext, PortalProvider, usePortal } from './portal-context.tsx';
import { parsePortalRoute, type PortalRoute } from './route.ts';
import { type Ending, NoSession, type OpenSession, type PortalSession } from './session.ts';

/** Opens the session, then shows the portal until the session ends. */
export function App({ open }: { open: () => Promise<OpenSession> }) {
  const { action, run } = useAction(open);
  useEffect(run, [run]);
  const [hasEnded, setHasEnded] = useState(false);
  if (hasEnded) return <EndingPage of="session_ended" />;
  switch (action.state) {
    case 'idle':
    case 'running':
      return <main aria-busy="true" />;
    case 'done':
      return <Portal opened={action.result} onEnd={() => setHasEnded(true)} />;
    case 'failed':
      if (action.failure instanceof NoSession) return <EndingPage of={action.failure.ending} />;
      return (
        <Message title="The page could not be opened">
          <p>{portalWords(action.failure)?.detail}</p>
          <WorkButton action={action} kind="primary" onClick={run}>
            Try again
          </WorkButton>
        </Message>
      );
  }
}

const ENDINGS: Record<Ending, readonly [title: string, text: string]> = {
  link_refused: [
    'This link is no longer valid',
    'It has expired, was used before, or was ended. A link opens this page once.',
  ],
  session_ended: ['Your session has ended', 'Sessions end after some hours.'],
  no_link: ['Open this page by its link', 'A link opens this page in one tab only.'],
};

function EndingPage({ of }: { of: Ending }) {
  const [title, text] = ENDINGS[of];
  return (
    <Message title={title}>
      <p>{text}</p>
      <p>
        <strong>Ask for a new link</strong> where you got this one.
      </p>
    </Message>
  );
}

/** A page without a session. */
function Message({ title, children }: { title: string; children: ComponentChildren }) {
  useEffect(() => {
    document.title = title;
  }, [title]);
  return (
    <main>
      <div class="section ending">
        <h1>{title}</h1>
        <div class="stack">{children}</div>
      </div>
    </main>
  );
}

/** Seconds. Each poll costs the operator a request, and counts towards the limit of the session. */
const POLLING = { floor: 5, ceiling: 30 };

function Portal({ opened, onEnd }: { opened: OpenSession; onEnd: () => void }) {
  const { title, accent, frame_ancestors: origins } = opened.session;
  const api = useMemo(() => portalClient(opened, onEnd), [opened]);
  const page = useMemo(
    (): PageContext => ({ api, site: title, polling: POLLING, explain: portalWords, freshness: new Map() }),
    [api, title],
  );
  useEffect(() => {
    if (accent !== undefined) applyAccent(accent, document.documentElement.style);
  }, [accent]);
  useEffect(() => reportHeight(origins), [origins]);
  return (
    <PageProvider value={page}>
      <Pages session={opened.session} />
    </PageProvider>
  );
}

function Pages({ session }: { session: PortalSession }) {
  const { api } = usePage();
  const route = parsePortalRoute(useHash());
  const catalogue = useLive('catalogue', () => readCatalogue(api, session, false), { once: true });
  const portal: PortalContext = { ...session, can: (one) => session.capabilities.includes(one), catalogue };
  return (
    <PortalProvider value={portal}>
      <PageFrame head={<Masthead route={route} />}>
        <CurrentPage route={route} />
      </PageFrame>
    </PortalProvider>
  );
}

function Masthead({ route: { page } }: { route: PortalRoute }) {
  const { title } = usePortal();
  const home = hrefTo({ page: 'overview' });
  return (
    <header class="masthead">
      <a class="brand" href={home}>
        {title}
      </a>
      <LinkBar
        kind="pages"
        label="Pages"
        links={[
          ['Endpoints', home, page === 'overview'],
          ['Events', hrefTo({ page: 'event-types' }), page === 'event-types'],
        ]}
      />
    </header>
  );
}

/** The queue is that of the session, also if the address names another. */
function CurrentPage({ route }: { route: PortalRoute }) {
  const { queue } = usePortal();
  switch (route.page) {
    case 'overview':
      return <EndpointsPage />;
    case 'subscription':
      return <EndpointPage key={route.subscription} id={route.subscription} />;
    case 'delivery':
      return <DeliveryPage key={hrefTo(route)} address={{ ...route, queue }} />;
    case 'event-types':
      return <EventTypesPage />;
    case 'unknown':
      return (
        <>
          <PageHeading title="Page not found" />
          <p>
            <a href={hrefTo({ page: 'overview' })}>Back to the endpoints</a>
          </p>
        </>
      );
  }
}
