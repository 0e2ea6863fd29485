import type { ConsoleInfo } from '../../../shared/wire/views/console.ts';
import { ThemeSwitch } from '../parts/theme.tsx';
import { hrefTo, type Route } from '../route.ts';
import { SearchBox } from './search.tsx';

const PAGES = [
  ['overview', 'Overview', hrefTo({ page: 'overview' })],
  ['recovery', 'Recovery', hrefTo({ page: 'recovery', query: {} })],
  ['books', 'Reconciliation', hrefTo({ page: 'books', query: {} })],
  ['dead-letters', 'Dead letters', hrefTo({ page: 'dead-letters', query: {} })],
  ['designer', 'Policy designer', hrefTo({ page: 'designer', query: {} })],
] as const;

export function Masthead({ info, route }: { info: ConsoleInfo | undefined; route: Route }) {
  return (
    <header class="masthead">
      <a class="brand" href={hrefTo({ page: 'overview' })}>
        <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
          <path d="M2 6h13M5 12h14M2 18h9M15 6l6 6-6 6" />
        </svg>
        Posthaste
      </a>
      <nav class="pages" aria-label="Console">
        {PAGES.map(([page, text, href]) => (
          <a key={page} href={href} aria-current={isIn(page, route) ? 'page' : undefined}>
            {text}
          </a>
        ))}
      </nav>
      <SearchBox route={route} />
      <div class="masthead-end">
        <DeploymentName info={info} />
        <ThemeSwitch />
      </div>
    </header>
  );
}

function isIn(page: string, route: Route): boolean {
  return route.page === page && !('queue' in route);
}

function DeploymentName({ info }: { info: ConsoleInfo | undefined }) {
  if (info === undefined) return null;
  const { deployment, region, isLocal } = info;
  if (deployment === null) return <span class="place">no deployment</span>;
  return (
    <span class="place">
      <span class="unseen">Deployment </span>
      {deployment}
      {isLocal ? <span class="badge">on this machine</span> : <span class="muted"> {region ?? ''}</span>}
    </span>
  );
}

/** The tabs of one queue. */
export function QueueNavigation({ route }: { route: Route }) {
  if (!('queue' in route)) return null;
  const { queue } = route;
  const tabs = [
    ['queue', 'Queue', hrefTo({ page: 'queue', queue })],
    ['messages', 'Messages', hrefTo({ page: 'messages', queue, query: {} })],
    ['deliveries', 'Deliveries', hrefTo({ page: 'deliveries', queue, query: {} })],
    ['recovery', 'Recovery', hrefTo({ page: 'recovery', queue, query: {} })],
    ['books', 'Reconciliation', hrefTo({ page: 'books', queue, query: {} })],
  ] as const;
  return (
    <nav class="tabs" aria-label={`Queue ${queue}`}>
      {tabs.map(([page, text, href]) => (
        <a key={page} href={href} aria-current={route.page === page ? 'page' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}
