import { Hono } from 'hono';
import { TrieRouter } from 'hono/router/trie-router';
import { isQueueName, toMessageId } from '../../shared/domain/message/message.ts';
import type { Api, ApiDependencies, ApiEnvironment, SecretDependencies } from './dependencies.ts';
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
import { isSubscriptionId } from './paths.ts';
import { checkToken, type TokenRules } from './permission.ts';
import type { AddRoute, Route } from './route.ts';
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

/**
 * The administration API (docs/api.md). API Gateway authenticates the caller. `secrets`: undefined where another function
 * serves the routes that open secrets.
 */
export function createApi(dependencies: ApiDependencies, secrets?: SecretDependencies): Api {
  const { api, routes, addRoute } = emptyApi(dependencies);
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
  return withRefusals(api, routes, dependencies);
}

/** The routes that open secrets, and nothing else. */
export function createSecretsApi(dependencies: SecretDependencies): Api {
  const { api, routes, addRoute } = emptyApi(dependencies);
  for (const access of accesses(dependencies)) addReceiveRoute(addRoute, access, dependencies);
  addCredentialsRoute(addRoute, dependencies);
  return withRefusals(api, routes, dependencies);
}

function emptyApi({ settings }: { settings: TokenRules }): { api: Api; routes: Route[]; addRoute: AddRoute } {
  // Ready at once: Hono's default router compiles all routes before the first request.
  const api: Api = new Hono<ApiEnvironment>({ router: new TrieRouter() });
  const routes: Route[] = [];
  const addRoute: AddRoute = (route, handle) => {
    routes.push(route);
    if (handle === undefined) return;
    const { open = false, permission = route.method === 'GET' ? 'read' : 'manage' } = route;
    api.on(route.method, route.path, (context) => {
      // The queue in the path; undefined if the request is not about one queue.
      const queue = context.req.param('queue');
      if (open === false) checkToken(settings, context.env.claims, { permission, queue });
      return handle(context);
    });
  };
  return { api, routes, addRoute };
}

/** Answers other methods of the routes, other paths, and errors. */
function withRefusals(
  api: Api,
  routes: readonly Route[],
  { reportFault }: Pick<ApiDependencies, 'reportFault'>,
): Api {
  for (const [path, served] of Map.groupBy(routes, (route) => route.path)) {
    const allow = served.map((route) => route.method).join(', ');
    const refusal = new RefusedRequest('method_not_allowed', `this path supports only ${allow}`);
    api.all(path, () => errorAnswer(refusal, { allow }));
  }
  api.notFound(() => errorAnswer(notFound('such route')));
  api.onError((error, context) => {
    const refused = toRefusal(error);
    if (refused !== undefined) return errorAnswer(refused);
    const { caller } = context.env;
    reportFault(error, { ...idsIn(context.req.param()), ...caller });
    return errorAnswer(internalError(caller.requestId));
  });
  return api;
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
