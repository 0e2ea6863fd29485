import { parseRoute, type Route } from '../../console/src/route.ts';

/** The pages of the portal. Shared parts link to the same addresses as in the console. */
export type PortalRoute =
  Extract<Route, { page: 'overview' | 'subscription' | 'delivery' | 'unknown' }> | { page: 'event-types' };

export const EVENT_TYPES = '#/event-types';

export function parsePortalRoute(hash: string): PortalRoute {
  if (hash === EVENT_TYPES) return { page: 'event-types' };
  const route = parseRoute(hash);
  const isHere = route.page === 'overview' || route.page === 'subscription' || route.page === 'delivery';
  return isHere ? route : { page: 'unknown' };
}
