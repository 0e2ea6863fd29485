import type { ApiAccess } from '../../api/api-access.ts';
import { forward, relay } from '../../loopback/forward.ts';
import { startLoopbackServer, type LoopbackServer } from '../../loopback/loopback-server.ts';
import { refusalOf } from '../../loopback/refusal.ts';

/**
 * Starts a server on 127.0.0.1 that signs each request and forwards it to the API.
 * @throws Problem when the port is in use.
 */
export function startSigningProxy(access: ApiAccess, wanted?: number): Promise<LoopbackServer> {
  return startLoopbackServer(async ({ request, response, port }) => {
    const answer = refusalOf(request, port) ?? (await forward(access, request, request.url ?? '/'));
    await relay(answer, response);
  }, wanted);
}
