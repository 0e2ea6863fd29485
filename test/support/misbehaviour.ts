import type { ServerResponse } from 'node:http';

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

export type Misbehaviour = keyof typeof misbehaviours;

export const misbehave = (behaviour: Misbehaviour, response: ServerResponse, start: Start): void => {
  misbehaviours[behaviour](response, start);
};
