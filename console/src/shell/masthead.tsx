import type { ConsoleInfo } from '../../../shared/wire/views/console.ts';
import { LinkBar } from '../parts/page-heading.tsx';
import { ThemeSwitch } from '../parts/theme.tsx';
import { hrefTo, type Route } from '../route.ts';
import { SearchBox } from './search.tsx';

type Page = readonly [text: string, to: Parameters<typeof hrefTo>[0]];

const PAGES: readonly Page[] = [
  ['Overview', { page: 'overview' }],
  ['Recovery', { page: 'recovery', query: {} }],
  ['Reconciliation', { page: 'books', query: {} }],
  ['Dead letters', { page: 'dead-letters', query: {} }],
  ['Event types', { page: 'event-types' }],
  ['Designer', { page: 'designer', query: {} }],
];

/** Current where the route is this page, of the same queue or of none. */
function linkTo([text, to]: Page, route: Route): readonly [text: string, href: string, current: boolean] {
  return [text, hrefTo(to), route.page === to.page && 'queue' in route === 'queue' in to];
}

export function Masthead({ info, route }: { info: ConsoleInfo | undefined; route: Route }) {
  return (
    <header class="masthead">
      <a class="brand" href={hrefTo({ page: 'overview' })}>
        <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
          <path d="M2 6h13M5 12h14M2 18h9M15 6l6 6-6 6" />
        </svg>
        Posthaste
      </a>
      <LinkBar kind="pages" label="Console" links={PAGES.map((page) => linkTo(page, route))} />
      <SearchBox route={route} />
      <div class="masthead-end">
        <DeploymentName info={info} />
        <ThemeSwitch />
      </div>
    </header>
  );
}

function DeploymentName({ info }: { info: ConsoleInfo | undefined }) {
  if (info === undefined) return null;
  const { deployment, region, isLocal } = info;
  if (deployment === null) return <span class="place">no deployment</span>;
  return (
    <span class="place">
      <span class="unseen">Deployment </span>
      {isLocal ? 'on this machine' : deployment}
      {isLocal || region === null ? null : <span class="muted"> {region}</span>}
    </span>
  );
}

/** The tabs of one queue. */
export function QueueNavigation({ route }: { route: Route }) {
  if (!('queue' in route)) return null;
  const { queue } = route;
  const pages: readonly Page[] = [
    ['Queue', { page: 'queue', queue }],
    ['Messages', { page: 'messages', queue, query: {} }],
    ['Deliveries', { page: 'deliveries', queue, query: {} }],
    ['Recovery', { page: 'recovery', queue, query: {} }],
    ['Reconciliation', { page: 'books', queue, query: {} }],
  ];
  return <LinkBar kind="tabs" label={`Queue ${queue}`} links={pages.map((page) => linkTo(page, route))} />;
}
