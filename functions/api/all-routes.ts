import type { ApiDependencies, SecretDependencies } from './dependencies.ts';
import { addArchiveRoutes } from './archives/routes.ts';
import { addPauseRoutes } from './pauses/routes.ts';
import { addManualRoutes } from './deliveries/manual-routes.ts';
import { addBooksRoutes } from './queues/books.ts';
import { addStatisticsRoute } from './queues/statistics.ts';
import { addConfirmationRoutes } from './subscriptions/confirm.ts';
import { addDeliveryRoutes } from './deliveries/routes.ts';
import { addEventTypeRoutes } from './event-types/routes.ts';
import { addExplainRoute } from './messages/explain.ts';
import { addPullTokenRoute } from './pull/token.ts';
import { addPullRoutes } from './pull/routes.ts';
import { addPortalRoutes } from './portal/routes.ts';
import { addQueueRoutes } from './queues/routes.ts';
import { addRecoveryRoutes } from './recoveries/routes.ts';
import { addSecretRoutes } from './subscriptions/secret-routes.ts';
import { addServiceRoutes } from './service/routes.ts';
import { addSubscriptionTestRoute } from './subscriptions/test-subscription.ts';
import { addSubscriptionRoutes } from './subscriptions/routes.ts';
import { addCredentialsRoute, addExportRoute, addImportRoute } from './subscriptions/transfer-routes.ts';
import { collectRoutes, type ServedRoute } from './serve.ts';

/**
 * All routes of the administration API: `first`, and those of this file. `secrets`: undefined where another function
 * serves the routes that open secrets.
 */
export function allRoutes(
  first: readonly ServedRoute[],
  dependencies: ApiDependencies,
  secrets?: SecretDependencies,
): readonly ServedRoute[] {
  const { routes, addRoute } = collectRoutes(first);
  addQueueRoutes(addRoute, dependencies);
  addSubscriptionRoutes(addRoute, dependencies);
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
  addExplainRoute(addRoute, dependencies);
  addDeliveryRoutes(addRoute, dependencies);
  addManualRoutes(addRoute, dependencies);
  addBooksRoutes(addRoute, dependencies);
  addStatisticsRoute(addRoute, dependencies);
  addRecoveryRoutes(addRoute, dependencies);
  addEventTypeRoutes(addRoute, dependencies);
  addPortalRoutes(addRoute, dependencies);
  addServiceRoutes(addRoute, dependencies, routes);
  return routes;
}
