import type { SecretDependencies } from './dependencies.ts';
import { addReceiveRoute } from './pull/receive.ts';
import { accesses } from './pull/token.ts';
import { type Api, buildApi, collectRoutes } from './serve.ts';
import { addCredentialsRoute } from './subscriptions/transfer-routes.ts';

/** The routes that open secrets, and nothing else. */
export function createSecretsApi(dependencies: SecretDependencies): Api {
  const { routes, group } = collectRoutes();
  for (const access of accesses(dependencies)) addReceiveRoute(group('pull'), access, dependencies);
  addCredentialsRoute(group('queues'), dependencies);
  return buildApi({ first: routes, all: () => Promise.resolve(routes) }, dependencies);
}
