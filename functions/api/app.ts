import type { ApiDependencies, SecretDependencies } from './dependencies.ts';
import { addMessageRoutes } from './messages/routes.ts';
import { withPortal } from './portal/gate.ts';
import { type Api, buildApi, collectRoutes, type ServedRoute } from './serve.ts';

/**
 * The administration API (docs/api.md). API Gateway authenticates the caller. `secrets`: undefined where another function
 * serves the routes that open secrets.
 */
export function createApi(dependencies: ApiDependencies, secrets?: SecretDependencies): Api {
  const { routes: first, group } = collectRoutes();
  addMessageRoutes(group('messages'), dependencies);
  let loaded: readonly ServedRoute[] | undefined;
  // On demand, so that producers do not wait for the routes of operators after a cold start.
  const all = async () =>
    (loaded ??= (await import('./all-routes.ts')).allRoutes(first, dependencies, secrets));
  const api = buildApi({ first, all }, dependencies);
  // The gate decides what a session may do; there is no token.
  const { answer: answerAdmitted } = buildApi(
    { first, all },
    { ...dependencies, settings: { jwtScopes: undefined, jwtQueuesClaim: undefined } },
  );
  return { ...api, answer: withPortal(dependencies, { answer: api.answer, answerAdmitted }) };
}
