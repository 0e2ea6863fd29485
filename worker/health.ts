import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { WorkerState } from './run.ts';

export type HealthServer = { url: string; close: () => Promise<void> };

/**
 * Serves `GET /health` (200 while the process answers) and `GET /ready` (200 from the first answers of SQS to the stop,
 * 503 otherwise). Both have the state as JSON, without names of the deployment's queues or messages.
 * @throws what the system says if it cannot listen there
 */
export async function startHealthServer(
  { host, port }: { host: string; port: number },
  state: () => WorkerState,
): Promise<HealthServer> {
  const server = createServer(({ method, url }, response) => {
    if (method !== 'GET' && method !== 'HEAD') answer(response, 405, { error: 'method not allowed' });
    else if (url === '/health') answer(response, 200, state());
    else if (url === '/ready') answer(response, state().status === 'ready' ? 200 : 503, state());
    else answer(response, 404, { error: 'not found' });
  });
  await once(server.listen(port, host), 'listening');
  const address = server.address();
  const listening = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${listening}`,
    close: async () => {
      const closed = once(server, 'close');
      server.close().closeAllConnections();
      await closed;
    },
  };
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(body)}\n`);
}
