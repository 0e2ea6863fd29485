import { toError } from '../../shared/domain/errors.ts';
import { isQueueName, toMessageId } from '../../shared/domain/message/message.ts';
import type { ApiDependencies, SecretDependencies } from './dependencies.ts';
import { errorAnswer, notFound, internalError, toRefusal, RefusedRequest } from './errors.ts';
import { addManualRoutes } from './deliveries/manual-routes.ts';
import { addBooksRoutes } from './queues/books.ts';
import { addStatisticsRoute } from './queues/statistics.ts';
import { addSubscriptionChangeRoutes } from './subscriptions/change-routes.ts';
import { addConfirmationRoutes } from './subscriptions/confirm.ts';
import { addDeliveryRoutes } from './deliveries/routes.ts';
import { addExplainRoute } from './messages/explain.ts';
import { addSubscriptionDeliveriesRoute } from './deliveries/of-subscription.ts';
import { addMessageRoutes } from './messages/routes.ts';
import { isPathOf, isSubscriptionId, readPath } from './paths.ts';
import { checkToken, type TokenRules } from './permission.ts';
import type { AddRoute, Answer, ApiRequest, Route } from './route.ts';
import { accesses, addPullTokenRoute } from './pull/token.ts';
import { addReceiveRoute } from './pull/receive.ts';
import { addPullRoutes } from './pull/routes.ts';
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
  const { routes, addRoute } = noRoutes();
  addQueueRoutes(addRoute, dependencies);
  addSubscriptionRoutes(addRoute, dependencies);
  addSubscriptionChangeRoutes(addRoute, dependencies);
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
  addServiceRoutes(addRoute, dependencies, routes);
  return serve(routes, dependencies);
}

/** The routes that open secrets, and nothing else. */
export function createSecretsApi(dependencies: SecretDependencies): Api {
  const { routes, addRoute } = noRoutes();
  for (const access of accesses(dependencies)) addReceiveRoute(addRoute, access, dependencies);
  addCredentialsRoute(addRoute, dependencies);
  return serve(routes, dependencies);
}

/** A route with its handler; undefined: it is only described. */
type ServedRoute = Route & { handle: ((request: ApiRequest) => Answer | Promise<Answer>) | undefined };

function noRoutes(): { routes: ServedRoute[]; addRoute: AddRoute } {
  const routes: ServedRoute[] = [];
  const addRoute: AddRoute = (route, handle) => {
    routes.push({
      ...route,
      handle: handle && ((request) => handle({ ...request, params: readPath(route.path, request.path) })),
    });
  };
  return { routes, addRoute };
}

type Serving = Pick<ApiDependencies, 'reportFault'> & { settings: TokenRules };

function serve(routes: readonly ServedRoute[], { settings, reportFault }: Serving): Api {
  const answer = async (request: ApiRequest): Promise<Answer> => {
    const { caller } = request;
    const found = routes.filter(({ path }) => isPathOf(path, request.path));
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const route = found.find((one) => one.method === method && one.handle !== undefined);
    if (route?.handle === undefined) return refuseMethod(found.filter(({ path }) => path === found[0]?.path));
    const ids: PathIds = readPath(route.path, request.path);
    try {
      checkAccess(route, settings, request, ids.queue);
      return await route.handle(request);
    } catch (error) {
      const refused = toRefusal(error);
      if (refused !== undefined) return errorAnswer(refused);
      reportFault(toError(error), { ...idsIn(ids), ...caller });
      return errorAnswer(internalError(caller.requestId));
    }
  };
  return { routes, answer };
}

/** `queue`: undefined if the path has none. @throws RefusedRequest */
function checkAccess(route: Route, rules: TokenRules, { claims }: ApiRequest, queue: string | undefined) {
  const { open = false, permission = route.method === 'GET' ? 'read' : 'manage' } = route;
  if (open === false) checkToken(rules, claims, { permission, queue });
}

/** `served`: the routes of the path. */
function refuseMethod(served: readonly Route[]): Answer {
  if (served.length === 0) return errorAnswer(notFound('such route'));
  const allow = served.map(({ method }) => method).join(', ');
  const refusal = new RefusedRequest('method_not_allowed', `this path supports only ${allow}`);
  return errorAnswer(refusal, { allow });
}

type PathIds = Partial<Record<'queue' | 'message' | 'subscription' | 'recovery', string>>;

/** The ids in the path, under their log keys. A log line repeats nothing of a caller that cannot be an id. */
function idsIn({ queue, message, subscription, recovery }: PathIds): Record<string, string> {
  return {
    ...(queue !== undefined && isQueueName(queue) && { queue }),
    ...(message !== undefined && { messageId: toMessageId({ id: message }).id }),
    ...(subscription !== undefined && isSubscriptionId(subscription) && { subscriptionId: subscription }),
    ...(recovery !== undefined && isSubscriptionId(recovery) && { recoveryId: recovery }),
  };
}
