import { buffer } from 'node:stream/consumers';
import { startLoopbackServer } from '../../loopback/loopback-server.ts';
import { receive, type Seen } from './receiver.ts';

/** A receiver that the checks send webhooks to. */
export type Receiver = {
  /** As the functions reach it. */
  url: string;
  /** The requests of a check so far, in the order of their arrival. */
  seen: (key: string) => readonly Seen[];
  close: () => Promise<void>;
};

/**
 * A receiver on this machine. `url`: under which the functions reach it, where that is not loopback.
 * @throws Problem when the port is in use
 */
export async function startLocalReceiver({
  port,
  url,
}: {
  port?: number | undefined;
  url?: string | undefined;
}): Promise<Receiver> {
  const all: Seen[] = [];
  const server = await startLoopbackServer(async ({ request, response }) => {
    const at = Date.now();
    const body = await buffer(request);
    const { seen, answer } = receive({ path: request.url ?? '/', headers: request.headers, body }, at);
    all.push(seen);
    const { status, headers } = answer;
    if (status === 'hang') return;
    response.writeHead(status, headers).end();
  }, port);
  return {
    url: url ?? server.url,
    seen: (key) => all.filter((one) => one.key === key),
    close: server.close,
  };
}
