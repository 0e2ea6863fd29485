import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { setImmediate } from 'node:timers/promises';
import { closeServer, listen } from './listening.ts';
import { promisify } from 'node:util';

export type StubRequest = { method: string; path: string; headers: IncomingHttpHeaders; body: string };
/**
 * `pieces`: bytes of each piece that the body is sent in. `afterMs`: delay of the answer. `hang_up`: no answer;
 * `cut_off`: the connection breaks in the middle of an answer; `stall`: the answer stops there.
 */
export type StubAnswer =
  | {
      status?: number;
      headers?: Record<string, string>;
      body?: string;
      pieces?: number;
      afterMs?: number | undefined;
    }
  | 'hang_up'
  | 'silence'
  | 'cut_off'
  | 'stall';

export type AwsStub = Awaited<ReturnType<typeof awsStub>>;

type StubOptions = {
  /** Certificate for 127.0.0.1, to be called by TLS. */
  tls?: { cert: string; key: string } | undefined;
  /** @default true */
  keepsRequests?: boolean;
};

/**
 * A service on loopback with scripted answers, so that the client's serialisation and error handling are tested
 * too.
 */
export const awsStub = async (
  answer: (request: StubRequest, index: number) => StubAnswer | Promise<StubAnswer>,
  { tls, keepsRequests = true }: StubOptions = {},
) => {
  const requests: StubRequest[] = [];
  let asked = 0;
  const listener: RequestListener = (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const { method = '', url = '', headers } = incoming;
      const request = { method, path: url, headers, body: Buffer.concat(chunks).toString() };
      if (keepsRequests) requests.push(request);
      const given = answer(request, asked++);
      if (given instanceof Promise)
        void given.then((later) => {
          give(outgoing, later);
        });
      else give(outgoing, given);
    });
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  let connections = 0;
  server.on('connection', () => (connections += 1));
  const port = await listen(server, '127.0.0.1');
  return {
    /** Options for an SDK client, or for one of the project's clients, that talks to the stub. */
    config: {
      endpoint: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
      maxAttempts: 1,
    },
    /** The requests kept so far. */
    requests,
    /** Number of connections accepted so far. */
    connections: () => connections,
    openConnections: promisify<number>(server.getConnections.bind(server)),
    /** Closes the connections; the stub keeps listening. */
    closeConnections: () => {
      server.closeAllConnections();
    },
    close: () => closeServer(server),
  };
};

const give = (outgoing: ServerResponse, answer: StubAnswer): void => {
  switch (answer) {
    case 'silence':
      return;
    case 'hang_up':
      outgoing.destroy();
      return;
    case 'cut_off':
      writeHalf(outgoing, () => outgoing.destroy());
      return;
    case 'stall':
      writeHalf(outgoing);
      return;
    default:
      if (answer.afterMs === undefined) answerBy(outgoing, answer);
      else setTimeout(answerBy, answer.afterMs, outgoing, answer);
  }
};

const answerBy = (outgoing: ServerResponse, answer: Exclude<StubAnswer, string>): void => {
  outgoing.writeHead(answer.status ?? 200, answer.headers ?? {});
  if (answer.pieces === undefined) outgoing.end(answer.body ?? '{}');
  else void writePieces(outgoing, Buffer.from(answer.body ?? '{}'), answer.pieces);
};

const writePieces = async (outgoing: ServerResponse, body: Buffer, size: number): Promise<void> => {
  for (let start = 0; start < body.length; start += size) {
    outgoing.write(body.subarray(start, start + size));
    await setImmediate();
  }
  outgoing.end();
};

const writeHalf = (outgoing: ServerResponse, then?: () => void): void => {
  outgoing.writeHead(200, { 'content-length': '1000' });
  outgoing.write('{"half', then);
};
