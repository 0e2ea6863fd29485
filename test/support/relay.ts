import {
  Agent,
  createServer,
  request as send,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { closeServer, listen } from './listening.ts';

export type RelayedRequest = {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};

/** Headers as alternating names and values. */
export type RelayedAnswer = { status: number; headers: readonly string[]; body: Buffer };

export type Relay = { origin: string; close: () => Promise<void> };

/**
 * Decides what the caller gets: the service's response by `forward`, another response, or a broken connection.
 */
type Treatment = (
  request: RelayedRequest,
  forward: () => Promise<RelayedAnswer>,
) => Promise<RelayedAnswer | 'cut'>;

export const startRelay = async (target: string, treatment: Treatment): Promise<Relay> => {
  const agent = new Agent({ keepAlive: true });

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bytesOf(incoming);
    const given = await treatment({ url: incoming.url ?? '/', headers: incoming.headers, body }, () =>
      forwarded(target, agent, incoming, body),
    );
    if (given === 'cut') response.socket?.resetAndDestroy();
    else response.writeHead(given.status, [...given.headers]).end(given.body);
  };

  const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, response) => {
    // If the caller or the service has stopped, the caller sees a broken connection.
    serve(incoming, response).catch(() => response.destroy());
  });
  const port = await listen(server, '127.0.0.1');
  return {
    origin: `http://127.0.0.1:${port}`,
    close: async () => {
      agent.destroy();
      await closeServer(server);
    },
  };
};

/** Forwards a request with the host that the caller signed. */
const forwarded = async (
  target: string,
  agent: Agent,
  { method, url, rawHeaders }: IncomingMessage,
  body: Buffer,
): Promise<RelayedAnswer> => {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const { hostname, port } = new URL(target);
    send({ hostname, port, path: url ?? '/', method, headers: rawHeaders, agent })
      .once('response', resolve)
      .once('error', reject)
      .end(body);
  });
  return { status: answer.statusCode ?? 502, headers: answer.rawHeaders, body: await bytesOf(answer) };
};

const bytesOf = async (message: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of message) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return Buffer.concat(chunks);
};
