import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { isIPv6, type Socket } from 'node:net';
import { type PeerCertificate, type TlsOptions, TLSSocket } from 'node:tls';
import { PATIENCE_MS } from './eventually.ts';
import { closeServer, listen } from './listening.ts';

/** The receiver's response to one request. */
export type Answer = {
  /** Default 200. */
  status?: number;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
  /** Milliseconds from the end of the request to the first byte of the response. */
  delayMs?: number;
  /** Raw bytes sent in place of a response; then the connection is closed (with `hang`: left open). */
  raw?: string | Buffer;
  behaviour?: Misbehaviour;
};

type Connection = { closedAt?: number };

export type ReceivedRequest = {
  method: string;
  /** Without the query. */
  path: string;
  query: string;
  headers: IncomingHttpHeaders;
  /** The body as received. */
  body: Buffer;
  /** Server name of the TLS handshake (SNI), if any. */
  servername?: string;
  /** Common name of the client's certificate, if it sent one. */
  client?: string;
  /** When its headers arrived, in milliseconds since the epoch. */
  arrivedAt: number;
  /** Its connection. `closedAt`: when that was closed, in milliseconds since the epoch. */
  connection: Connection;
};

/** Answers in order, the last one repeatedly; or a function of the request. */
export type Script =
  | readonly [Answer, ...Answer[]]
  | ((request: ReceivedRequest) => Answer | Promise<Answer>);

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

export type ReceiverOptions = {
  /** A loopback address; default 127.0.0.1. */
  host?: string;
  /** A fixed port; default an ephemeral one. */
  port?: number;
  /** PEM texts; makes the receiver use https. */
  tls?: Pick<
    TlsOptions,
    'ca' | 'ciphers' | 'dhparam' | 'maxVersion' | 'requestCert' | 'rejectUnauthorized'
  > & {
    key: string;
    cert: string;
  };
};

type Waiter = { path: string; count: number; done: (requests: readonly ReceivedRequest[]) => void };

/** A real HTTP server on loopback with scripted answers, which keeps its requests. */
export const startReceiver = async (options: ReceiverOptions = {}) => {
  const host = options.host ?? '127.0.0.1';
  const requests: ReceivedRequest[] = [];
  const scripts = new Map<string, { script: Script; used: number }>();
  const waiters = new Set<Waiter>();
  let connections = 0;

  /** The requests of a path (default: all) in the order in which they were completely read. */
  const received = (path?: string): readonly ReceivedRequest[] =>
    path === undefined ? [...requests] : requests.filter((request) => request.path === path);

  const keep = (request: ReceivedRequest): void => {
    requests.push(request);
    for (const waiter of waiters) {
      const found = received(waiter.path);
      if (found.length >= waiter.count) waiter.done(found.slice(0, waiter.count));
    }
  };

  const answerTo = async (request: ReceivedRequest): Promise<Answer> => {
    const scripted = scripts.get(request.path);
    if (scripted === undefined) return {};
    const { script } = scripted;
    if (typeof script === 'function') return script(request);
    const answer = script[Math.min(scripted.used, script.length - 1)];
    scripted.used += 1;
    return answer ?? script[0];
  };

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await readRequest(incoming);
    keep(request);
    const answer = await answerTo(request);
    if (answer.delayMs !== undefined) await pause(answer.delayMs);
    send(answer, response);
  };

  const listener: RequestListener = (incoming, response) => {
    serve(incoming, response).catch((error: unknown) => {
      // The client left in the middle of its request, or the script threw; then the response contains the error.
      if (incoming.destroyed && !incoming.complete) response.destroy();
      else response.writeHead(500).end(String(error));
    });
  };
  const server = serverFor(options, listener);
  server.on('connection', () => (connections += 1));
  const port = await listen(server, host, options.port ?? 0);

  return {
    /** The URL of a path, such as `url('/orders')`. */
    url: (path = '/') =>
      `${options.tls ? 'https' : 'http'}://${isIPv6(host) ? `[${host}]` : host}:${port}${path}`,
    /** Sets the answers of a path from now on. A path without a script answers 200 with an empty body. */
    script: (path: string, script: Script) => void scripts.set(path, { script, used: 0 }),
    received,
    /**
     * Waits for the first `count` requests of a path.
     * @throws if they do not arrive within `deadlineMs`
     */
    waitFor: (path: string, count: number, deadlineMs = PATIENCE_MS) =>
      new Promise<readonly ReceivedRequest[]>((resolve, reject) => {
        const found = received(path);
        if (found.length >= count) {
          resolve(found.slice(0, count));
          return;
        }
        const timer = setTimeout(() => {
          waiters.delete(waiter);
          const came = received(path).length;
          reject(new Error(`${path}: ${came} of ${count} requests arrived within ${deadlineMs} ms`));
        }, deadlineMs);
        const waiter: Waiter = {
          path,
          count,
          done: (all) => {
            clearTimeout(timer);
            waiters.delete(waiter);
            resolve(all);
          },
        };
        waiters.add(waiter);
      }),
    /** Drops the requests that came so far. */
    forget: () => void requests.splice(0),
    /** Number of connections accepted so far, including those without a request. */
    connections: () => connections,
    close: () => closeServer(server),
  };
};

const serverFor = (options: ReceiverOptions, listener: RequestListener): Server => {
  // Long keep-alive, so that the client decides when to stop reusing a connection.
  const settings = { keepAliveTimeout: 60_000 };
  return options.tls
    ? createSecureServer({ ...settings, minVersion: 'TLSv1', ...options.tls }, listener)
    : createServer(settings, listener);
};

const readRequest = async (incoming: IncomingMessage): Promise<ReceivedRequest> => {
  const arrivedAt = Date.now();
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) {
    if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  }
  const [path = '/', query = ''] = (incoming.url ?? '/').split('?', 2);
  return {
    method: incoming.method ?? '',
    path,
    query,
    headers: incoming.headers,
    body: Buffer.concat(chunks),
    arrivedAt,
    connection: connectionOf(incoming.socket),
    ...servernameOf(incoming.socket),
    ...clientOf(incoming.socket),
  };
};

const connections = new WeakMap<Socket, Connection>();

const connectionOf = (socket: Socket): Connection => {
  const known = connections.get(socket);
  if (known !== undefined) return known;
  const connection: Connection = {};
  connections.set(socket, connection);
  socket.once('close', () => {
    connection.closedAt = Date.now();
  });
  return connection;
};

const servernameOf = (socket: Socket): { servername?: string } =>
  socket instanceof TLSSocket && typeof socket.servername === 'string'
    ? { servername: socket.servername }
    : {};

const clientOf = (socket: Socket): { client?: string } =>
  socket instanceof TLSSocket ? named(socket.getPeerCertificate()) : {};

/** The certificate is empty if the client sent none, which Node's types leave out. */
const named = ({ subject }: Partial<PeerCertificate>): { client?: string } =>
  typeof subject?.CN === 'string' ? { client: subject.CN } : {};

const send = (answer: Answer, response: ServerResponse): void => {
  if (answer.raw !== undefined) {
    response.socket?.write(answer.raw);
    if (answer.behaviour !== 'hang') response.socket?.end();
  } else if (answer.behaviour !== undefined) {
    misbehave(answer.behaviour, response, answer);
  } else {
    response.writeHead(answer.status ?? 200, answer.headers).end(answer.body);
  }
};

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

type Start = { status?: number; headers?: Record<string, string | string[]>; body?: string | Buffer };

const DRIP_MS = 50;
const BLOCK = Buffer.alloc(64 * 1024, 'x');
const LONGER_THAN_SENT = { 'content-length': '1000000' };

const begin = (response: ServerResponse, start: Start, then: () => void): void => {
  response.writeHead(start.status ?? 200, start.headers);
  response.write(start.body ?? 'begun', then);
};

const announcingMore = (start: Start): Start => ({
  ...start,
  headers: { ...LONGER_THAN_SENT, ...start.headers },
});

const pour = (response: ServerResponse): void => {
  while (!response.destroyed && response.write(BLOCK));
  if (!response.destroyed) {
    response.once('drain', () => {
      pour(response);
    });
  }
};

/** What a hostile or broken receiver does after it has read a request. `body` is sent first, if given. */
const misbehaviours = {
  /** Never answers. */
  hang: () => undefined,
  /** Sends a status, then headers without end. */
  slow_headers: (response: ServerResponse) => {
    const { socket } = response;
    socket?.write('HTTP/1.1 200 OK\r\n');
    const timer = setInterval(() => socket?.write('x-slow: 1\r\n'), DRIP_MS);
    socket?.once('close', () => {
      clearInterval(timer);
    });
  },
  /** Sends a status, headers and the beginning of a body, then resets the connection. */
  reset_in_body: (response: ServerResponse, start: Start) => {
    begin(response, announcingMore(start), () => response.socket?.resetAndDestroy());
  },
  /** Sends a status, headers and less of a body than announced, then closes the connection. */
  short: (response: ServerResponse, start: Start) => {
    begin(response, announcingMore(start), () => response.socket?.end());
  },
  /** Sends a status, headers and the beginning of a body, then nothing. */
  stall: (response: ServerResponse, start: Start) => {
    begin(response, announcingMore(start), () => undefined);
  },
  /** Sends a status and headers, then a few bytes at intervals. */
  drip: (response: ServerResponse, start: Start) => {
    begin(response, start, () => {
      const timer = setInterval(() => response.write('.'), DRIP_MS);
      response.once('close', () => {
        clearInterval(timer);
      });
    });
  },
  /** Sends a status and headers, then as many bytes as the other side accepts. */
  endless: (response: ServerResponse, start: Start) => {
    begin(response, start, () => {
      pour(response);
    });
  },
};

type Misbehaviour = keyof typeof misbehaviours;

const misbehave = (behaviour: Misbehaviour, response: ServerResponse, start: Start): void => {
  misbehaviours[behaviour](response, start);
};
