import { parseRoute, type Route } from '../../console/src/route.ts';

/** The pages of the portal. Shared parts link to the same addresses as in the console. */
export type PortalRoute =
  Extract<Route, { page: 'overview' | 'subscription' | 'delivery' | 'unknown' }> | { page: 'event-types' };

export const EVENT_TYPES = '#/event-types';

export function parsePortalRoute(hash: string): PortalRoute {
  if (hash === EVENT_TYPES) return { page: 'event-types' };
  const route = parseRoute(hash);
  switch (route.page) {
    case 'overview':
    case 'subscription':
    case 'delivery':
      return route;
    default:
      return { page: 'unknown' };
  }
}
