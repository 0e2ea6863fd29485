import { toPattern } from '../../shared/config/open-routes.ts';
import { isQueueName, toMessageId } from '../../shared/domain/message/message.ts';
import type { ApiDependencies, SecretDependencies } from './dependencies.ts';
import { addArchiveRoutes } from './archives/routes.ts';
import { errorAnswer, toErrorAnswer } from './error-answer.ts';
import { notFound, RefusedRequest } from './errors.ts';
import { addPauseRoutes } from './pauses/routes.ts';
import { addManualRoutes } from './deliveries/manual-routes.ts';
import { addBooksRoutes } from './queues/books.ts';
import { addStatisticsRoute } from './queues/statistics.ts';
import { addSubscriptionChangeRoutes } from './subscriptions/change-routes.ts';
import { addConfirmationRoutes } from './subscriptions/confirm.ts';
import { addDeliveryRoutes } from './deliveries/routes.ts';
import { addEventTypeRoutes } from './event-types/routes.ts';
import { addExplainRoute } from './messages/explain.ts';
import { addSubscriptionDeliveriesRoute } from './deliveries/of-subscription.ts';
import { addMessageRoutes } from './messages/routes.ts';
import { isSubscriptionId } from './paths.ts';
import { checkToken, type Claims, type TokenRules } from './permission.ts';
import { type AddRoute, type Answer, type ApiRequest, type Handle, type Route } from './route.ts';
import { accesses, addPullTokenRoute } from './pull/token.ts';
import { addReceiveRoute } from './pull/receive.ts';
import { addPullRoutes } from './pull/routes.ts';
import { withPortal } from './portal/gate.ts';
import { addPortalRoutes } from './portal/routes.ts';
import { addQueueRoutes } from './queues/routes.ts';
import { addRecoveryRoutes } from './recoveries/routes.ts';
import { addSecretRoutes } from './subscriptions/secret-routes.ts';
import { addServiceRoutes } from './service/routes.ts';
import { addSubscriptionTestRoute } from './subscriptions/test-subscription.ts';
import { addSubscriptionRoutes } from './subscriptions/routes.ts';
import { addCredentialsRoute, addExportRoute, addImportRoute } from './subscriptions/transfer-routes.ts';

/** `answer`: never throws, as internal errors are responses too. */
export type Api = { routes: readonly Route[]; answer: (request: ApiRequest) => Promise<Answer> };

/**
 * The administration API (docs/api.md). API Gateway authenticates the caller. `secrets`: undefined where another function
 * serves the routes that open secrets.
 */
export function createApi(dependencies: ApiDependencies, secrets?: SecretDependencies): Api {
  const { routes, addRoute } = collectRoutes();
  addQueueRoutes(addRoute, dependencies);
  addSubscriptionRoutes(addRoute, dependencies);
  addSubscriptionChangeRoutes(addRoute, dependencies);
  addArchiveRoutes(addRoute, dependencies);
  addPauseRoutes(addRoute, dependencies);
  addConfirmationRoutes(addRoute, dependencies);
  addSubscriptionTestRoute(addRoute, dependencies);
  addExportRoute(addRoute, dependencies);
  addCredentialsRoute(addRoute, secrets);
  addImportRoute(addRoute, dependencies);
  addSecretRoutes(addRoute, dependencies);
  addPullRoutes(addRoute, dependencies, secrets);
  addPullTokenRoute(addRoute, dependencies);
  addMessageRoutes(addRoute, dependencies);
  addExplainRoute(addRoute, dependencies);
  addDeliveryRoutes(addRoute, dependencies);
  addSubscriptionDeliveriesRoute(addRoute, dependencies);
  addManualRoutes(addRoute, dependencies);
  addBooksRoutes(addRoute, dependencies);
  addStatisticsRoute(addRoute, dependencies);
  addRecoveryRoutes(addRoute, dependencies);
  addEventTypeRoutes(addRoute, dependencies);
  addPortalRoutes(addRoute, dependencies);
  addServiceRoutes(addRoute, dependencies, routes);
  const api = buildApi(routes, dependencies);
  // The gate decides what a session may do; there is no token.
  const { answer: answerAdmitted } = buildApi(routes, {
    ...dependencies,
    settings: { jwtScopes: undefined, jwtQueuesClaim: undefined },
  });
  return { ...api, answer: withPortal(dependencies, { answer: api.answer, answerAdmitted }) };
}

/** The routes that open secrets, and nothing else. */
export function createSecretsApi(dependencies: SecretDependencies): Api {
  const { routes, addRoute } = collectRoutes();
  for (const access of accesses(dependencies)) addReceiveRoute(addRoute, access, dependencies);
  addCredentialsRoute(addRoute, dependencies);
  return buildApi(routes, dependencies);
}

/** `handle`: undefined where another function serves the route. */
type ServedRoute = Route & { pattern: RegExp; handle: Handle<string> | undefined };

function collectRoutes(): { routes: ServedRoute[]; addRoute: AddRoute } {
  const routes: ServedRoute[] = [];
  function addRoute<Path extends string>(route: Route<Path>, handle: Handle<Path> | undefined): void;
  function addRoute(route: Route, handle: Handle<string> | undefined): void {
    routes.push({ ...route, pattern: toPattern(route.path), handle });
  }
  return { routes, addRoute };
}

type Serving = Pick<ApiDependencies, 'reportFault'> & { settings: TokenRules };

function buildApi(routes: readonly ServedRoute[], { settings, reportFault }: Serving): Api {
  const answer = async (request: ApiRequest): Promise<Answer> => {
    const matches = routes.flatMap((route) => {
      const match = route.pattern.exec(request.path);
      return match === null ? [] : [{ ...route, params: { ...match.groups } }];
    });
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const route = matches.find((one) => one.method === method);
    if (route?.handle === undefined) return refuse(matches);
    const { params } = route;
    try {
      checkAccess(route, settings, request.claims, params['queue']);
      return await route.handle({ ...request, params });
    } catch (error) {
      return toErrorAnswer(error, { ...idsIn(params), ...request.caller }, reportFault);
    }
  };
  return { routes, answer };
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
