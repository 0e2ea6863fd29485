import { Hono } from 'hono';
import { messageIdOf } from '../../shared/domain/message.ts';
import type { Api, ApiDependencies, ApiEnvironment } from './dependencies.ts';
import { errorAnswer, notFound, RefusedRequest } from './error-answers.ts';
import { refusalOf } from './refusal.ts';
import { addByHandRoutes } from './routes/by-hand.ts';
import { addBooksRoutes } from './routes/books.ts';
import { addConfirmationRoute } from './routes/confirmation.ts';
import { addDeliveryRoutes } from './routes/deliveries.ts';
import { addMessageRoutes } from './routes/messages.ts';
import { addOpenApiRoute } from './routes/openapi.ts';
import { addQueueRoutes } from './routes/queues.ts';
import { addRecoveryRoutes } from './routes/recoveries.ts';
import { addSecretRoutes } from './routes/secrets.ts';
import { addServiceRoutes } from './routes/service.ts';
import { addSubscriptionTestRoute } from './routes/subscription-test.ts';
import { addSubscriptionRoutes } from './routes/subscriptions.ts';
import { addTransferRoutes } from './routes/transfer.ts';

/** The administration API (docs/api.md). Who may call it is API Gateway's to decide. */
export const createApi = (dependencies: ApiDependencies): Api => {
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
};

/** What the path names, in the words of the log. */
const idsIn = ({
  queue,
  message,
  subscription,
  recovery,
}: Record<string, string>): Record<string, string> => ({
  ...(queue !== undefined && { queue }),
  ...(message !== undefined && { messageId: messageIdOf({ id: message }).id }),
  ...(subscription !== undefined && { subscriptionId: subscription }),
  ...(recovery !== undefined && { recoveryId: recovery }),
});

const refuseOtherMethods = (api: Api): void => {
  for (const [path, routes] of Map.groupBy(api.routes, (route) => route.path)) {
    const allow = routes.map((route) => route.method).join(', ');
    const refusal = new RefusedRequest('method_not_allowed', `only ${allow} here`);
    api.all(path, () => errorAnswer(refusal, { allow }));
  }
};
