import type { ServerResponse } from 'node:http';

type Start = { status?: number; headers?: Record<string, string | string[]>; body?: string | Buffer };

const DRIP_MS = 50;
const BLOCK = Buffer.alloc(64 * 1024, 'x');
const MORE_THAN_COMES = { 'content-length': '1000000' };

const begin = (response: ServerResponse, start: Start, then: () => void): void => {
  response.writeHead(start.status ?? 200, start.headers);
  response.write(start.body ?? 'begun', then);
};

const announcingMore = (start: Start): Start => ({
  ...start,
  headers: { ...MORE_THAN_COMES, ...start.headers },
});

const pour = (response: ServerResponse): void => {
  while (!response.destroyed && response.write(BLOCK));
  if (!response.destroyed) {
    response.once('drain', () => {
      pour(response);
    });
  }
};

/** What a hostile or broken receiver does with a request that it has read. `body` is sent first where there is one. */
const misbehaviours = {
  /** Never answers. */
  hang: () => undefined,
  /** Status, then one header after another without end. */
  slow_headers: (response: ServerResponse) => {
    const { socket } = response;
    socket?.write('HTTP/1.1 200 OK\r\n');
    const timer = setInterval(() => socket?.write('x-slow: 1\r\n'), DRIP_MS);
    socket?.once('close', () => {
      clearInterval(timer);
    });
  },
  /** Status, headers, the beginning of a body, then a reset. */
  reset_in_body: (response: ServerResponse, start: Start) => {
    begin(response, announcingMore(start), () => response.socket?.resetAndDestroy());
  },
  /** Status, headers, less of a body than was announced, then the connection is closed. */
  short: (response: ServerResponse, start: Start) => {
    begin(response, announcingMore(start), () => response.socket?.end());
  },
  /** Status, headers, the beginning of a body, then silence. */
  stall: (response: ServerResponse, start: Start) => {
    begin(response, announcingMore(start), () => undefined);
  },
  /** Status and headers, then a few bytes now and then. */
  drip: (response: ServerResponse, start: Start) => {
    begin(response, start, () => {
      const timer = setInterval(() => response.write('.'), DRIP_MS);
      response.once('close', () => {
        clearInterval(timer);
      });
    });
  },
  /** Status and headers, then as many bytes as the other side takes. */
  endless: (response: ServerResponse, start: Start) => {
    begin(response, start, () => {
      pour(response);
    });
  },
};

export type Misbehaviour = keyof typeof misbehaviours;

export const misbehave = (behaviour: Misbehaviour, response: ServerResponse, start: Start): void => {
  misbehaviours[behaviour](response, start);
};
