/**
 * API routes without authorization: confirmation links and the ping. Shared by API Gateway and the API function, so
 * that they agree on what is public.
 */
export const openRoutes = [
  { path: '/v2/ping', methods: ['GET'] },
  { path: '/v2/queues/{queue}/subscriptions/{subscription}/confirm', methods: ['GET', 'POST'] },
] as const;

/** API Gateway's route for all other requests, which it authorizes. */
export const DEFAULT_ROUTE = '$default';

const patterns = openRoutes.map(({ path }) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`));

/** Whether a path is public, for any method. */
export function isOpenPath(path: string): boolean {
  return patterns.some((pattern) => pattern.test(path));
}
