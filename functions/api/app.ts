import { Hono } from 'hono';
import { messageIdOf } from '../../shared/domain/message/message.ts';
import type { Api, ApiDependencies, ApiEnvironment } from './dependencies.ts';
import { errorAnswer, notFound, RefusedRequest } from './errors.ts';
import { refusalOf } from './refusal.ts';
import { addByHandRoutes } from './deliveries/by-hand-routes.ts';
import { addBooksRoutes } from './queues/books.ts';
import { addConfirmationRoute } from './subscriptions/confirmation-routes.ts';
import { addDeliveryRoutes } from './deliveries/routes.ts';
import { addMessageRoutes } from './messages/routes.ts';
import { addOpenApiRoute } from './openapi/route.ts';
import { addQueueRoutes } from './queues/routes.ts';
import { addRecoveryRoutes } from './recoveries/routes.ts';
import { addSecretRoutes } from './subscriptions/secret-routes.ts';
import { addServiceRoutes } from './service/routes.ts';
import { addSubscriptionTestRoute } from './subscriptions/test-routes.ts';
import { addSubscriptionRoutes } from './subscriptions/routes.ts';
import { addTransferRoutes } from './subscriptions/transfer-routes.ts';

/** The administration API (docs/api.md). Who may call it is API Gateway's to decide. */
export function createApi(dependencies: ApiDependencies): Api {
  const api: Api = new Hono<ApiEnvironment>({ strict: false });
  addQueueRoutes(api, dependencies);
  addSubscriptionRoutes(api, dependencies);
  addConfirmationRoute(api, dependencies);
  addSubscriptionTestRoute(api, dependencies);
  addTransferRoutes(api, dependencies);
  addSecretRoutes(api, dependencies);
  addMessageRoutes(api, dependencies);
  addDeliveryRoutes(api, dependencies);
  addByHandRoutes(api, dependencies);
  addBooksRoutes(api, dependencies);
  addRecoveryRoutes(api, dependencies);
  addOpenApiRoute(api, dependencies);
  addServiceRoutes(api, dependencies);
  refuseOtherMethods(api);
  api.notFound(() => errorAnswer(notFound('such route')));
  api.onError((error, context) => {
    const refused = refusalOf(error);
    if (refused !== undefined) return errorAnswer(refused);
    const { caller } = context.env;
    dependencies.reportFault(error, { ...idsIn(context.req.param()), ...caller });
    return errorAnswer(
      new RefusedRequest('internal', `our fault; it is in the log as request ${caller.requestId}`),
    );
  });
  return api;
}

/** What the path names, in the words of the log. */
function idsIn({ queue, message, subscription, recovery }: Record<string, string>): Record<string, string> {
  return {
    ...(queue !== undefined && { queue }),
    ...(message !== undefined && { messageId: messageIdOf({ id: message }).id }),
    ...(subscription !== undefined && { subscriptionId: subscription }),
    ...(recovery !== undefined && { recoveryId: recovery }),
  };
}

function refuseOtherMethods(api: Api): void {
  for (const [path, routes] of Map.groupBy(api.routes, (route) => route.path)) {
    const allow = routes.map((route) => route.method).join(', ');
    const refusal = new RefusedRequest('method_not_allowed', `only ${allow} here`);
    api.all(path, () => errorAnswer(refusal, { allow }));
  }
}
