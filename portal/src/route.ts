import { parseRoute, type Route } from '../../console/src/route.ts';

const PAGES = ['overview', 'subscription', 'delivery', 'event-types'] as const;

/** The pages of the portal. Shared parts link to the same addresses as in the console. */
export type PortalRoute = Extract<Route, { page: (typeof PAGES)[number] | 'unknown' }>;

export function parsePortalRoute(hash: string): PortalRoute {
  const route = parseRoute(hash);
  return isHere(route) ? route : { page: 'unknown' };
}

function isHere(route: Route): route is PortalRoute {
  return PAGES.some((page) => page === route.page);
}
