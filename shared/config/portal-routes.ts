import type { PortalRight } from '../domain/portal/vocabulary.ts';
import { toPattern } from './open-routes.ts';

/** What the gate checks of a request before the route gets it. */
export type RequestCheck = 'create' | 'change' | 'test' | 'payload';

export type PortalRoute = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below `/v2/queues/{queue}`. */
  path: string;
  right: PortalRight;
  check?: RequestCheck;
};

const ENDPOINT = '/subscriptions/{subscription}';
const DELIVERY = '/messages/{message}/deliveries/{subscription}';

/**
 * All that a tenant can reach. The gate of the API refuses everything else, and the policies of sessions name the same
 * rights and methods.
 */
export const portalRoutes: readonly PortalRoute[] = [
  { method: 'GET', path: '/subscriptions', right: 'see' },
  { method: 'GET', path: ENDPOINT, right: 'see' },
  { method: 'GET', path: `${ENDPOINT}/waiting`, right: 'see' },
  { method: 'GET', path: '/event-types', right: 'see' },
  { method: 'GET', path: '/event-types/{type}', right: 'see' },
  { method: 'GET', path: '/statistics', right: 'see' },
  { method: 'POST', path: '/subscriptions', right: 'manage', check: 'create' },
  { method: 'PATCH', path: ENDPOINT, right: 'manage', check: 'change' },
  { method: 'DELETE', path: ENDPOINT, right: 'manage' },
  { method: 'POST', path: `${ENDPOINT}/pause`, right: 'manage' },
  { method: 'POST', path: `${ENDPOINT}/resume`, right: 'manage' },
  { method: 'POST', path: `${ENDPOINT}/enable`, right: 'manage' },
  { method: 'POST', path: `${ENDPOINT}/disable`, right: 'manage' },
  { method: 'POST', path: `${ENDPOINT}/secret/rotate`, right: 'secrets' },
  { method: 'POST', path: `${ENDPOINT}/test`, right: 'test', check: 'test' },
  { method: 'GET', path: `${ENDPOINT}/deliveries`, right: 'deliveries' },
  { method: 'GET', path: '/deliveries', right: 'deliveries' },
  { method: 'GET', path: DELIVERY, right: 'deliveries' },
  { method: 'GET', path: `${DELIVERY}/payload`, right: 'deliveries', check: 'payload' },
  { method: 'POST', path: `${DELIVERY}/retry`, right: 'retry' },
  { method: 'POST', path: '/recoveries', right: 'retry' },
  { method: 'GET', path: '/recoveries', right: 'retry' },
  { method: 'GET', path: '/recoveries/{recovery}', right: 'retry' },
  { method: 'GET', path: '/recoveries/{recovery}/outcomes', right: 'retry' },
  { method: 'DELETE', path: '/recoveries/{recovery}', right: 'retry' },
];

const PORTAL_QUEUES = '/v2/portal/queues';

/** Where the API serves what a session with this right may do. The right is part of it, so that a short policy can name it. */
export function portalPath(queue: string, right: PortalRight): string {
  return `${PORTAL_QUEUES}/${queue}/${right}`;
}

/** The parts of such a path. Undefined for any other path. */
export function parsePortalPath(path: string): { queue: string; right: string; rest: string } | undefined {
  const form = new RegExp(`^${PORTAL_QUEUES}/(?<queue>[^/]+)/(?<right>[^/]+)(?<rest>/.+)$`);
  const { queue, right, rest } = form.exec(path)?.groups ?? {};
  return queue === undefined || right === undefined || rest === undefined
    ? undefined
    : { queue, right, rest };
}

const patterns = portalRoutes.map((route) => ({ route, pattern: toPattern(route.path) }));

/** The route of a request, with the parameters in its path. `rest`: below the queue. */
export function findPortalRoute(
  method: string,
  rest: string,
): { route: PortalRoute; params: Readonly<Record<string, string>> } | undefined {
  for (const { route, pattern } of patterns) {
    const match = route.method === method ? pattern.exec(rest) : null;
    if (match !== null) return { route, params: { ...match.groups } };
  }
  return undefined;
}

/** The methods and paths of a queue that a policy of IAM allows these rights. `*` stands for any text, also with slashes. */
export function permittedPaths(
  queue: string,
  rights: readonly PortalRight[],
): { method: string; path: string }[] {
  const permitted = portalRoutes.filter(({ right }) => rights.includes(right));
  const keys = new Set(permitted.map(({ method, right }) => `${method} ${portalPath(queue, right)}/*`));
  return [...keys].map((key) => {
    const [method = '', path = ''] = key.split(' ');
    return { method, path };
  });
}
