import { toPattern } from '../../shared/config/open-routes.ts';
import { isQueueName, toMessageId } from '../../shared/domain/message/message.ts';
import type { ApiDependencies } from './dependencies.ts';
import { errorAnswer, toErrorAnswer } from './error-answer.ts';
import { notFound, RefusedRequest } from './errors.ts';
import { isSubscriptionId } from './paths.ts';
import { checkToken, type Claims, type TokenRules } from './permission.ts';
import type { AddRoute, Answer, ApiRequest, Handle, Route } from './route.ts';

/** `answer`: never throws, as internal errors are responses too. */
export type Api = { routes: Routes['all']; answer: (request: ApiRequest) => Promise<Answer> };

/** `handle`: undefined where another function serves the route. */
export type ServedRoute = Route & { pattern: RegExp; handle: Handle<string> | undefined };

/** `first`: routes that were collected before. */
export function collectRoutes(first: readonly ServedRoute[] = []): {
  routes: ServedRoute[];
  addRoute: AddRoute;
} {
  const routes = [...first];
  function addRoute<Path extends string>(route: Route<Path>, handle: Handle<Path> | undefined): void;
  function addRoute(route: Route, handle: Handle<string> | undefined): void {
    routes.push({ ...route, pattern: toPattern(route.path), handle });
  }
  return { routes, addRoute };
}

type Serving = Pick<ApiDependencies, 'reportFault'> & { settings: TokenRules };

/** `first`: those of `all` that are in the first file of the bundle. */
type Routes = { first: readonly ServedRoute[]; all: () => Promise<readonly ServedRoute[]> };

export function buildApi({ first, all }: Routes, { settings, reportFault }: Serving): Api {
  const answer = async (request: ApiRequest): Promise<Answer> => {
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    let params: Record<string, string> = {};
    try {
      const known = findMatches(first, request.path);
      const isKnown = known.some((one) => one.method === method);
      const matches = isKnown ? known : findMatches(await all(), request.path);
      const route = matches.find((one) => one.method === method);
      if (route?.handle === undefined) return refuse(matches);
      ({ params } = route);
      checkAccess(route, settings, request.claims, params['queue']);
      return await route.handle({ ...request, params });
    } catch (error) {
      return toErrorAnswer(error, { ...idsIn(params), ...request.caller }, reportFault);
    }
  };
  return { routes: all, answer };
}

function findMatches(routes: readonly ServedRoute[], path: string) {
  return routes.flatMap((route) => {
    const match = route.pattern.exec(path);
    return match === null ? [] : [{ ...route, params: { ...match.groups } }];
  });
}

/** `queue`: undefined if the request is not about one queue. */
function checkAccess(route: Route, rules: TokenRules, claims: Claims | undefined, queue: string | undefined) {
  const { open = false, permission = route.method === 'GET' ? 'read' : 'manage' } = route;
  if (open === false) checkToken(rules, claims, { permission, queue });
}

/** `routes`: all of the path. */
function refuse(routes: readonly Route[]): Answer {
  if (routes.length === 0) return errorAnswer(notFound('such route'));
  const allow = routes.map(({ method }) => method).join(', ');
  return errorAnswer(new RefusedRequest('method_not_allowed', `this path supports only ${allow}`), { allow });
}

/** The ids in the path, under their log keys. A log line repeats nothing of a caller that cannot be an id. */
function idsIn({ queue, message, subscription, recovery }: Record<string, string>): Record<string, string> {
  return {
    ...(queue !== undefined && isQueueName(queue) && { queue }),
    ...(message !== undefined && { messageId: toMessageId({ id: message }).id }),
    ...(subscription !== undefined && isSubscriptionId(subscription) && { subscriptionId: subscription }),
    ...(recovery !== undefined && isSubscriptionId(recovery) && { recoveryId: recovery }),
  };
}
