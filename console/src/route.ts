import { formatSearch } from '../../api-client/api-client.ts';
import type { DeliveryAddress } from '../../api-client/deliveries.ts';

/** The page to show, from the part of the address behind the `#`. */
export type Route =
  | { page: 'overview' }
  | { page: 'queue'; queue: string }
  | { page: 'subscription'; queue: string; subscription: string }
  | { page: 'messages'; queue: string; query: Query }
  | { page: 'message'; queue: string; message: string }
  | { page: 'deliveries'; queue: string; query: Query }
  | ({ page: 'delivery' } & DeliveryAddress)
  | { page: 'recovery'; queue?: string; query: Query }
  | { page: 'books'; queue?: string; query: Query }
  | { page: 'event-types' }
  | { page: 'event-type'; type: string }
  | { page: 'designer'; query: Query }
  | { page: 'dead-letters'; query: Query }
  | { page: 'unknown' };

/** The query of an address. Undefined values are left out. */
export type Query = Readonly<Record<string, string | undefined>>;

export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#/, '').split(/\?(.*)/s, 2);
  const query = Object.fromEntries(new URLSearchParams(search));
  const segments = parseSegments(path);
  const [, queue = '', , id = '', , subscriptionId = ''] = segments;
  const shape = segments
    .map((segment, index) => (index % 2 === 0 ? encodeURIComponent(segment) : '*'))
    .join('/');
  switch (shape) {
    case '':
    case 'queues':
      return { page: 'overview' };
    case 'recovery':
    case 'books':
    case 'designer':
    case 'dead-letters':
      return { page: shape, query };
    case 'event-types':
      return { page: shape };
    case 'event-types/*':
      return { page: 'event-type', type: queue };
    case 'queues/*':
      return { page: 'queue', queue };
    case 'queues/*/messages':
      return { page: 'messages', queue, query };
    case 'queues/*/deliveries':
      return { page: 'deliveries', queue, query };
    case 'queues/*/recovery':
      return { page: 'recovery', queue, query };
    case 'queues/*/books':
      return { page: 'books', queue, query };
    case 'queues/*/subscriptions/*':
      return { page: 'subscription', queue, subscription: id };
    case 'queues/*/messages/*':
      return { page: 'message', queue, message: id };
    case 'queues/*/messages/*/deliveries/*':
      return { page: 'delivery', queue, messageId: id, subscriptionId };
    default:
      return { page: 'unknown' };
  }
}

/** One segment that no page has, for a path that cannot be decoded. */
function parseSegments(path: string): string[] {
  try {
    return path
      .split('/')
      .filter((segment) => segment !== '')
      .map(decodeURIComponent);
  } catch (error) {
    if (error instanceof URIError) return ['?'];
    throw error;
  }
}

/** The address of a page. Ids are encoded, so that each is one segment. */
export function hrefTo(route: Exclude<Route, { page: 'unknown' }>): string {
  const path = segmentsTo(route).map(encodeURIComponent).join('/');
  return `#/${path}${'query' in route ? formatSearch(route.query) : ''}`;
}

function segmentsTo(route: Exclude<Route, { page: 'unknown' }>): string[] {
  switch (route.page) {
    case 'overview':
      return [];
    case 'queue':
      return ['queues', route.queue];
    case 'subscription':
      return ['queues', route.queue, 'subscriptions', route.subscription];
    case 'message':
      return ['queues', route.queue, 'messages', route.message];
    case 'delivery':
      return ['queues', route.queue, 'messages', route.messageId, 'deliveries', route.subscriptionId];
    case 'messages':
    case 'deliveries':
    case 'recovery':
    case 'books':
      return route.queue === undefined ? [route.page] : ['queues', route.queue, route.page];
    case 'event-type':
      return ['event-types', route.type];
    case 'event-types':
    case 'designer':
    case 'dead-letters':
      return [route.page];
  }
}
