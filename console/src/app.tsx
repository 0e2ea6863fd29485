import { useMemo, useState } from 'preact/hooks';
import { type ConsoleInfo, consoleInfoSchema } from '../../shared/wire/views/console.ts';
import { wordsFor } from './api/failure-words.ts';
import { pageClient } from './api/page-client.ts';
import {
  type ConsoleContext,
  ConsoleProvider,
  type Freshness,
  stalenessOf,
  useConsole,
} from './live/console-context.tsx';
import { useLoaded, useNow, useRoute } from './live/hooks.ts';
import { CurrentPage } from './pages/current-page.tsx';
import { Failure, Notice } from './parts/loaded.tsx';
import { clockText, relativeText } from './parts/time-text.ts';
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
  const stale = stalenessOf(freshness.values(), now);
  if (stale === undefined) return null;
  const { readAt, dueAt } = stale;
  return (
    <p class="stale">
      As of {clockText(readAt, { now, exact: false })}, {relativeText(readAt, now)}
      {dueAt === undefined ? '' : `; trying again ${dueAt > now ? relativeText(dueAt, now) : 'now'}`}.
    </p>
  );
}
