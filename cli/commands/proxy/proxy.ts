import { type ApiAccess, findApi } from '../../api/api-access.ts';
import { untilAborted } from '../../interruption.ts';
import { relay, sendSigned } from '../../loopback/signed-request.ts';
import { type LoopbackServer, startLoopbackServer, findRefusal } from '../../loopback/loopback-server.ts';
import { PORT } from '../../options/arguments.ts';
import { deployed } from '../../options/deployed.ts';

/** `posthaste proxy` */
export const proxy = deployed<{ port?: number }>({
  options: [PORT],
  json: 'url',
  more: `
Signs requests with your credentials and forwards them to the API of the
deployment. It listens on 127.0.0.1 and refuses requests from web pages of
other origins. Every program on this machine can use it, so stop it with Ctrl-C
when you are done.
`,
  examples: ['proxy --port 8888    # then: curl http://127.0.0.1:8888/v2/queues'],
  run: async ({ options: { port, json, ...choice }, terminal }) => {
    const access = await findApi(choice, terminal.env);
    await terminal.untilInterrupted(async (signal) => {
      const proxy = await startSigningProxy(access, port);
      try {
        const { url } = proxy;
        const text = `Proxy for the API of ${access.name}: ${url}\nPress Ctrl-C to stop.`;
        terminal.printResult({ json }, { url }, () => text);
        await untilAborted(signal);
      } finally {
        await proxy.close();
      }
    });
  },
});

/**
 * Starts a server on 127.0.0.1 that signs each request and forwards it to the API.
 * @throws Problem when the port is in use.
 */
export function startSigningProxy(access: ApiAccess, wanted?: number): Promise<LoopbackServer> {
  return startLoopbackServer(async ({ request, response, port }) => {
    const answer = findRefusal(request, port) ?? (await sendSigned(access, request, request.url ?? '/'));
    await relay(answer, response);
  }, wanted);
}
