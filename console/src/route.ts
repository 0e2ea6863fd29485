import { searchOf } from '../../api-client/api-client.ts';

/** The page to show, from the part of the address behind the `#`. */
export type Route =
  | { page: 'overview' }
  | { page: 'queue'; queue: string }
  | { page: 'subscription'; queue: string; subscription: string }
  | { page: 'messages'; queue: string; query: Query }
  | { page: 'message'; queue: string; message: string }
  | { page: 'deliveries'; queue: string; query: Query }
  | { page: 'delivery'; queue: string; message: string; subscription: string }
  | { page: 'recovery'; queue?: string; query: Query }
  | { page: 'books'; queue?: string; query: Query }
  | { page: 'designer'; query: Query }
  | { page: 'dead-letters'; query: Query }
  | { page: 'unknown' };

/** The query of an address. Undefined values are left out. */
export type Query = Readonly<Record<string, string | undefined>>;

export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#/, '').split(/\?(.*)/s, 2);
  const segments = segmentsOf(path);
  if (segments === undefined) return { page: 'unknown' };
  const query = Object.fromEntries(new URLSearchParams(search));
  const [first, ...rest] = segments;
  if (first === 'queues') return rest.length === 0 ? { page: 'overview' } : ofQueue(rest, query);
  return rest.length === 0 ? withoutQueue(first, query) : { page: 'unknown' };
}

function segmentsOf(path: string): string[] | undefined {
  try {
    return path
      .split('/')
      .filter((segment) => segment !== '')
      .map(decodeURIComponent);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

function withoutQueue(page: string | undefined, query: Query): Route {
  switch (page) {
    case undefined:
      return { page: 'overview' };
    case 'recovery':
    case 'books':
    case 'designer':
    case 'dead-letters':
      return { page, query };
    default:
      return { page: 'unknown' };
  }
}

function ofQueue([queue = '', kind, id, ...rest]: string[], query: Query): Route {
  if (kind === undefined) return { page: 'queue', queue };
  if (id === undefined) return listOf(kind, queue, query);
  return rest.length === 0 ? oneOf(kind, queue, id) : deliveryOf(kind, { queue, message: id }, rest);
}

function deliveryOf(
  kind: string,
  of: { queue: string; message: string },
  [below, subscription, ...more]: string[],
): Route {
  return kind === 'messages' && below === 'deliveries' && subscription !== undefined && more.length === 0
    ? { page: 'delivery', ...of, subscription }
    : { page: 'unknown' };
}

function listOf(kind: string, queue: string, query: Query): Route {
  switch (kind) {
    case 'messages':
    case 'deliveries':
    case 'recovery':
    case 'books':
      return { page: kind, queue, query };
    default:
      return { page: 'unknown' };
  }
}

function oneOf(kind: string, queue: string, id: string): Route {
  switch (kind) {
    case 'subscriptions':
      return { page: 'subscription', queue, subscription: id };
    case 'messages':
      return { page: 'message', queue, message: id };
    default:
      return { page: 'unknown' };
  }
}

/** The address of a page. Ids are encoded, so that each is one segment. */
export function hrefTo(route: Exclude<Route, { page: 'unknown' }>): string {
  switch (route.page) {
    case 'overview':
      return '#/';
    case 'queue':
      return `#${encoded`/queues/${route.queue}`}`;
    case 'subscription':
      return `#${encoded`/queues/${route.queue}/subscriptions/${route.subscription}`}`;
    case 'message':
      return `#${encoded`/queues/${route.queue}/messages/${route.message}`}`;
    case 'delivery':
      return `#${encoded`/queues/${route.queue}/messages/${route.message}/deliveries/${route.subscription}`}`;
    case 'messages':
    case 'deliveries':
      return `#${encoded`/queues/${route.queue}/${route.page}`}${searchOf(route.query)}`;
    case 'recovery':
    case 'books': {
      const path =
        route.queue === undefined ? encoded`/${route.page}` : encoded`/queues/${route.queue}/${route.page}`;
      return `#${path}${searchOf(route.query)}`;
    }
    case 'designer':
    case 'dead-letters':
      return `#/${route.page}${searchOf(route.query)}`;
  }
}

/** Each value becomes one encoded segment of the path. */
export function encoded(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return texts.reduce((path, text, index) => path + encodeURIComponent(values[index - 1] ?? '') + text);
}
