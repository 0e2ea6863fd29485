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
  const { routes, group } = collectRoutes(first);
  addQueueRoutes(group('queues'), dependencies);
  addSubscriptionRoutes(group('subscriptions'), dependencies);
  addArchiveRoutes(group, dependencies);
  addPauseRoutes(group, dependencies);
  addConfirmationRoutes(group('subscriptions'), dependencies);
  addSubscriptionTestRoute(group('subscriptions'), dependencies);
  addExportRoute(group('queues'), dependencies);
  addCredentialsRoute(group('queues'), secrets);
  addImportRoute(group('queues'), dependencies);
  addSecretRoutes(group('subscriptions'), dependencies);
  addPullRoutes(group('pull'), dependencies, secrets);
  addPullTokenRoute(group('pull'), dependencies);
  addExplainRoute(group('messages'), dependencies);
  addDeliveryRoutes(group('deliveries'), dependencies);
  addManualRoutes(group('deliveries'), dependencies);
  addBooksRoutes(group('queues'), dependencies);
  addStatisticsRoute(group('queues'), dependencies);
  addRecoveryRoutes(group('recoveries'), dependencies);
  addEventTypeRoutes(group('event types'), dependencies);
  addPortalRoutes(group('portal'), dependencies);
  addServiceRoutes(group('service'), dependencies, routes);
  return routes;
}
