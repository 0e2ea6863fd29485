import * as z from 'zod';
import { toPattern } from '../../shared/config/open-routes.ts';
import { toError } from '../../shared/domain/errors.ts';
import { isQueueName, QUEUE_NAME_RULE, toMessageId } from '../../shared/domain/message/message.ts';
import type { Caller } from './audit.ts';
import type { ApiDependencies, CommonPorts } from './dependencies.ts';
import {
  errorBody,
  internalError,
  invalidFields,
  notFound,
  RefusedRequest,
  statusOfCode,
  toRefusal,
} from './errors.ts';
import { isSubscriptionId } from './paths.ts';
import { checkToken, type Claims, type TokenRules } from './permission.ts';
import { parseWith, readJson, readOptionalJson } from './request-json.ts';
import {
  type Answer,
  type ApiRequest,
  type Group,
  type Handle,
  jsonAnswer,
  type RequestContext,
  type Route,
  type RouteKey,
  type Tag,
} from './route.ts';

/** `answer`: never throws, as internal errors are responses too. */
export type Api = { routes: Routes['all']; answer: (request: ApiRequest) => Promise<Answer> };

/** A route with any parameters, query and body. */
type AnyRoute = Omit<Route, 'handle'> & { handle: Handle<string> | undefined };

export type ServedRoute = AnyRoute & { method: string; path: string; tag: Tag; pattern: RegExp };

/** `first`: routes that were collected before. */
export function collectRoutes(first: readonly ServedRoute[] = []): {
  routes: ServedRoute[];
  group: Group;
} {
  const routes = [...first];
  const group: Group = (tag) => {
    function addRoute<Key extends RouteKey, Query extends z.ZodObject, Body extends z.ZodType>(
      route: Route<Key, Query, Body>,
    ): void;
    function addRoute(route: AnyRoute): void {
      const [method = '', path = ''] = route.key.split(' ');
      routes.push({ ...route, method, path, tag, pattern: toPattern(path) });
    }
    return addRoute;
  };
  return { routes, group };
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
      return await route.handle(toContext(route, request, params));
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

/**
 * `queue`: undefined if the request is not about one queue. An open route checks the name itself, because each of its
 * refusals is the same.
 */
function checkAccess(
  route: ServedRoute,
  rules: TokenRules,
  claims: Claims | undefined,
  queue: string | undefined,
) {
  const { open = false, permission = route.method === 'GET' ? 'read' : 'manage' } = route;
  if (open !== false) return;
  checkToken(rules, claims, { permission, queue });
  if (queue !== undefined && !isQueueName(queue))
    throw invalidFields([{ field: 'queue', message: `must be ${QUEUE_NAME_RULE}` }]);
}

function toContext(
  { query, body }: Route,
  request: ApiRequest,
  params: Record<string, string>,
): RequestContext<string> {
  return {
    ...request,
    params,
    raw: request,
    get query() {
      return query && parseWith(query, request.query);
    },
    get body() {
      return body && parseBody(body, request.body);
    },
  };
}

function parseBody({ required, content }: NonNullable<Route['body']>, given: ApiRequest['body']): unknown {
  const schema = content['application/json']?.schema;
  const { value } = required === true ? readJson(given) : readOptionalJson(given);
  return schema instanceof z.ZodType ? parseWith(schema, value) : value;
}

/** `routes`: all of the path. */
function refuse(routes: readonly ServedRoute[]): Answer {
  if (routes.length === 0) return errorAnswer(notFound('such route'));
  const allow = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
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

function errorAnswer(refused: RefusedRequest, headers: Record<string, string> = {}): Answer {
  // RFC 9110 §15.5.2 requires it.
  const challenge = refused.code === 'unauthorized' ? { 'www-authenticate': 'Bearer' } : {};
  return jsonAnswer(errorBody(refused), statusOfCode[refused.code], { ...challenge, ...headers });
}

/** The response to a request that failed. An internal error is reported with these ids. */
export function toErrorAnswer(
  error: unknown,
  ids: Caller & Readonly<Record<string, string>>,
  reportFault: CommonPorts['reportFault'],
): Answer {
  const refused = toRefusal(error);
  if (refused !== undefined) return errorAnswer(refused);
  reportFault(toError(error), ids);
  return errorAnswer(internalError(ids.requestId));
}
