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

/** API Gateway's route for all other requests, which it authorizes. */
export const DEFAULT_ROUTE = '$default';

const patterns = openRoutes.map(({ path }) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`));

/** Whether subscribers poll a route, with the token of their subscription. */
export function isPullRoute(path: string): boolean {
  return path.startsWith('/v2/pull/');
}

/** Whether a path is public, for any method. */
export function isOpenPath(path: string): boolean {
  return patterns.some((pattern) => pattern.test(path));
}
