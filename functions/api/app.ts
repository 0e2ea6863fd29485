import { Hono } from 'hono';
import {
  InvalidMarkerError,
  QueueBusyError,
  QueueMissingError,
} from '../../shared/ports/subscription-registry.ts';
import type { Api, ApiDependencies, ApiEnvironment } from './dependencies.ts';
import { errorAnswer, invalidFields, notFound, RefusedRequest } from './error-answers.ts';
import { addMessageRoutes } from './routes/messages.ts';
import { addQueueRoutes } from './routes/queues.ts';
import { addSubscriptionRoutes } from './routes/subscriptions.ts';

/** The administration API (docs/api.md). Who may call it is API Gateway's to decide. */
export const createApi = (dependencies: ApiDependencies): Api => {
  const api: Api = new Hono<ApiEnvironment>({ strict: false });
  addQueueRoutes(api, dependencies);
  addSubscriptionRoutes(api, dependencies);
  addMessageRoutes(api, dependencies);
  refuseOtherMethods(api);
  api.notFound(() => errorAnswer(notFound('such route')));
  api.onError((error, context) => {
    const refused = refusalOf(error);
    if (refused !== undefined) return errorAnswer(refused);
    const { caller } = context.env;
    dependencies.reportFault(error, caller);
    return errorAnswer(
      new RefusedRequest('internal', `our fault; it is in the log as request ${caller.requestId}`),
    );
  });
  return api;
};

const refusalOf = (error: Error): RefusedRequest | undefined => {
  if (error instanceof RefusedRequest) return error;
  if (error instanceof InvalidMarkerError) {
    return invalidFields([{ field: 'marker', message: 'is not from this listing' }]);
  }
  if (error instanceof QueueMissingError) {
    return new RefusedRequest('conflict', 'the queue was deleted meanwhile');
  }
  if (error instanceof QueueBusyError) {
    return new RefusedRequest(
      'conflict',
      'subscriptions kept being added meanwhile; the queue is still there',
    );
  }
  return undefined;
};

const refuseOtherMethods = (api: Api): void => {
  for (const [path, routes] of Map.groupBy(api.routes, (route) => route.path)) {
    const allow = routes.map((route) => route.method).join(', ');
    const refusal = new RefusedRequest('method_not_allowed', `only ${allow} here`);
    api.all(path, () => errorAnswer(refusal, { allow }));
  }
};
