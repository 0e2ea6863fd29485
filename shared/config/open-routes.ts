/**
 * API routes that API Gateway lets through: the ping, public keys under the random id of their subscription, and those
 * that the function authorises by a token, of a confirmation link or of a pull subscription. Shared by both, so that they
 * agree on what is public.
 */
export const openRoutes = [
  { path: '/v2/ping', methods: ['GET'] },
  { path: '/v2/queues/{queue}/subscriptions/{subscription}/confirm', methods: ['GET', 'POST'] },
  { path: '/v2/queues/{queue}/subscriptions/{subscription}/jwks.json', methods: ['GET'] },
  { path: '/v2/pull/{queue}/{subscription}/receive', methods: ['POST'] },
  { path: '/v2/pull/{queue}/{subscription}/ack', methods: ['POST'] },
  { path: '/v2/pull/{queue}/{subscription}/nack', methods: ['POST'] },
] as const;

/** The same where the deployment has a portal: they open a link, and read what a session may do. */
export const portalOpenRoutes = [{ path: '/v2/portal/session', methods: ['GET', 'POST'] }] as const;

/** The route of portal sessions. API Gateway authorises them by IAM, also where it authorises others by tokens. */
export const PORTAL_GATE = '/v2/portal/queues/{proxy+}';

/**
 * Requests a second, from all callers together, to each route by which subscribers receive or the portal works. A
 * subscriber that polls every second is one of them; beyond, API Gateway answers 429.
 */
export const TOKEN_RATE_LIMIT = 50;

/** The burst limit of a route, as seconds of its rate limit. */
export const BURST_SECONDS = 2;

/**
 * Routes that open secrets: a separate function serves them, and no other one of the API can open any. They sign
 * what is received by pull, and export credentials.
 */
export const secretRoutes = [
  { path: '/v2/pull/{queue}/{subscription}/receive', methods: ['POST'] },
  { path: '/v2/queues/{queue}/subscriptions/{subscription}/receive', methods: ['POST'] },
  { path: '/v2/credentials/{queue}', methods: ['POST'] },
] as const;

/** API Gateway's route for all other requests, which it authorizes. */
export const DEFAULT_ROUTE = '$default';

/** Matches the paths of a route. The groups are the parameters: `queue` of `/v2/queues/{queue}`. */
export function toPattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);
}

const patterns = [...openRoutes, ...portalOpenRoutes].map(({ path }) => toPattern(path));

/** Patterns of the paths of the routes that have a name, by their keys (`POST /v2/credentials/{queue}`). */
const patternByKey = new Map([
  ...[...openRoutes, ...portalOpenRoutes, ...secretRoutes].flatMap(({ path, methods }) =>
    methods.map((method): [string, RegExp] => [`${method} ${path}`, toPattern(path)]),
  ),
  [`ANY ${PORTAL_GATE}`, /^\/v2\/portal\/queues\/./],
]);

/** Whether callers with a token use a route often: subscribers that poll, and the portal. */
export function isTokenRoute(path: string): boolean {
  return path.startsWith('/v2/pull/') || path.includes('/portal');
}

/** Whether API Gateway authorises a path by the route with this key. */
export function isServedBy(routeKey: string, path: string): boolean {
  return routeKey === DEFAULT_ROUTE || patternByKey.get(routeKey)?.test(path) === true;
}

/** Whether a path is public, for any method. */
export function isOpenPath(path: string): boolean {
  return patterns.some((pattern) => pattern.test(path));
}
