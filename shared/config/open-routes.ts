/**
 * The routes of the API that anybody may call: whoever follows a confirmation's link, and whoever asks whether we are there.
 * One place, so that the API never serves by them what API Gateway has authorised nobody for.
 */
export const openRoutes = [
  { path: '/v2/ping', methods: ['GET'] },
  { path: '/v2/queues/{queue}/subscriptions/{subscription}/confirm', methods: ['GET', 'POST'] },
] as const;

/** API Gateway's name of the route that everything else comes by, and that authorises its callers. */
export const DEFAULT_ROUTE = '$default';

const patterns = openRoutes.map(({ path }) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`));

/** Whether anybody may call this path, whatever its method. */
export function isOpenPath(path: string): boolean {
  return patterns.some((pattern) => pattern.test(path));
}
