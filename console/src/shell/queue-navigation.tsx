import { hrefTo, type Route } from '../route.ts';

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
