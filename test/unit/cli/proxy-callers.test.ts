import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { startSigningProxy } from '../../../cli/commands/proxy/proxy.ts';
import { loopbackPort } from '../../../local/loopback-port.ts';
import { requestLoopback } from './loopback-request.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

it('the proxy keeps working after a caller disconnects before the API answers, also if that request times out later', async () => {
  const limits: AbortController[] = [];
  vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
    const limit = new AbortController();
    limits.push(limit);
    return limit.signal;
  });
  const held: ServerResponse[] = [];
  const api = createServer((request, response) => {
    if (request.url === '/held') held.push(response);
    else response.end('{}');
  });
  const port = await loopbackPort(undefined);
  api.listen(port, '127.0.0.1');
  await once(api, 'listening');
  const proxy = await startSigningProxy({
    name: 'a test',
    apiUrl: `http://127.0.0.1:${port}`,
    isLocal: false,
    authorize: () => Promise.resolve(new Headers()),
  });

  const caller = connect(proxy.port, '127.0.0.1');
  caller.write(`GET /held HTTP/1.1\r\nhost: 127.0.0.1:${proxy.port}\r\n\r\n`);
  await once(api, 'request');
  caller.destroy();
  // A further request shows that the proxy has processed the disconnect, or the start of the response.
  expect((await requestLoopback(proxy.port, { path: '/next' })).status).toBe(200);
  held[0]?.writeHead(200, { 'content-length': '100' }).write('{"queues":');
  expect((await requestLoopback(proxy.port, { path: '/next' })).status).toBe(200);
  limits[0]?.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));

  expect((await requestLoopback(proxy.port, { path: '/next' })).status).toBe(200);
  await proxy.close();
  api.closeAllConnections();
  api.close();
});
