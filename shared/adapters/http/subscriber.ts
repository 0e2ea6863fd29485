import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

import type { Dispatcher } from 'undici';

import type { Reply } from '../../domain/delivery/outcome.ts';
import { parseSubscriberUrl } from '../../domain/subscription/subscriber-url.ts';
import type { WebhookRequest } from '../../domain/delivery/webhook-request.ts';
import type { Subscriber } from '../../ports/subscriber.ts';
import { addressGuard, type AllowedPlaces } from './address-guard.ts';
import { faultOf, ForbiddenAddress, type Stage, timeoutFault } from './connection-fault.ts';
import { type Amount, connectionPool, type ConnectionPool } from './connection-pool.ts';
import { type Resolve, resolveBySystem } from './guarded-connector.ts';
import { readReply } from './reply-reading.ts';

export type HttpSubscriberOptions = AllowedPlaces & {
  /** PEM texts of certificate authorities that are trusted beside the public ones. Default none. */
  trustedCertificates?: readonly string[];
  /** Default: the system's resolver. */
  resolve?: Resolve;
  /** Milliseconds since the epoch. Default: the system's clock. */
  now?: () => number;
};

/** Milliseconds, for DNS, TCP and TLS together (design §7). */
const CONNECT_MS = 5_000;
/**
 * Milliseconds for the body once the status is known. The body is good for the snippet and for the reuse of the
 * connection only, so that a dripping one is not worth the rest of the deadline.
 */
const BODY_MS = 5_000;
/**
 * Bytes, for all that comes in on the connection: also for what is neither a header nor body, and has no end (blank lines
 * before the status, extensions of chunks, trailers). A few reads below what the parser takes of headers, because it goes on
 * beyond that to the end of what it was given, and makes an error with a stack of every single line.
 */
const MAX_RECEIVED = 384 * 1024;
/**
 * For all attempts under way together, before their statuses. A line of headers takes some 3 µs and 400 bytes as it is parsed, however
 * short it is. Of ten attempts under way each has 400 KB and 12,000 lines of this, of a hundred 40 KB and 1,200.
 */
const MOST_BEFORE_STATUS: Amount = { bytes: 4 * 1024 * 1024, lines: 120_000 };
const WITH_STATUS: Amount = { bytes: MAX_RECEIVED, lines: Infinity };
/** Informational answers (RFC 9110 §15.2) before the one that counts. Servers send one or two; each takes our processor. */
const MAX_INFORMATIONAL = 100;

/**
 * Posts to subscribers over HTTP/1.1. Whatever the far end does, `post` ends with a reply within `timeoutMs`.
 * @throws InvalidAddressRange
 * @throws InvalidPortRange
 */
export function httpSubscriber(options: HttpSubscriberOptions): Subscriber {
  const pool = connectionPool(
    {
      guard: addressGuard(options),
      resolve: options.resolve ?? resolveBySystem,
      secureContext: secureContextFor(options.trustedCertificates ?? []),
    },
    options.now ?? Date.now,
  );
  let underWay = 0;
  const beforeStatus = (): Amount => ({
    bytes: Math.min(MAX_RECEIVED, MOST_BEFORE_STATUS.bytes / underWay),
    lines: MOST_BEFORE_STATUS.lines / underWay,
  });
  return {
    post: async (request, timeoutMs) => {
      const target = parseSubscriberUrl(request.url);
      if (target.kind === 'invalid') return { kind: 'forbidden' };
      underWay += 1;
      try {
        return await exchange({ pool, beforeStatus }, target.url, request, timeoutMs);
      } finally {
        underWay -= 1;
      }
    },
  };
}

function secureContextFor(trustedCertificates: readonly string[]): SecureContext {
  return createSecureContext({
    minVersion: 'TLSv1.2',
    ...(trustedCertificates.length === 0
      ? {}
      : { ca: [...getCACertificates('default'), ...trustedCertificates] }),
  });
}

/** `beforeStatus`: how much an attempt may now receive without a status. */
type Sharing = { pool: ConnectionPool; beforeStatus: () => Amount };

/** One request and its answer. The first thing that ends it decides; what comes later finds it ended. */
function exchange(
  { pool, beforeStatus }: Sharing,
  url: URL,
  request: WebhookRequest,
  timeoutMs: number,
): Promise<Reply> {
  return new Promise((resolve) => {
    const reading = readReply();
    const idle = pool.takeIdle(url.origin);
    let connection = idle ?? pool.open(url.origin);
    let progress: 'waiting' | 'sent' | 'ended' = 'waiting';
    let informational = 0;

    const end = (reply: Reply, isReusable: boolean): void => {
      if (progress === 'ended') return;
      progress = 'ended';
      clearTimeout(deadline);
      clearTimeout(stageLimit);
      if (isReusable) pool.giveBack(connection);
      else connection.destroy();
      resolve(reply);
    };
    /** Nothing more is waited for: what has come of an answer is the answer. */
    const cutShort = (): void => {
      end(reading.reply() ?? { kind: 'unanswered', ...timeoutFault(connection.stage()) }, false);
    };

    const flooded = (): void => {
      end(reading.reply() ?? FLOODED, false);
    };

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => {
        clearTimeout(stageLimit);
        if (progress === 'waiting') progress = 'sent';
        connection.limit(() => (reading.reply() === undefined ? beforeStatus() : WITH_STATUS), flooded);
      },
      onResponseStart: (_controller, statusCode, headers) => {
        if (progress === 'ended') return;
        if (statusCode < 200) {
          informational += 1;
          if (informational > MAX_INFORMATIONAL) flooded();
          return;
        }
        if (reading.start(statusCode, headers) === 'dropped') cutShort();
        else stageLimit = setTimeout(cutShort, BODY_MS);
      },
      onResponseData: (_controller, chunk) => {
        if (progress !== 'ended' && reading.add(chunk) === 'dropped') cutShort();
      },
      onResponseEnd: () => {
        const reply = reading.reply();
        if (reply !== undefined) end(reply, true);
      },
      onResponseError: (_controller, error) => {
        if (progress === 'waiting' && connection === idle) sendAnew();
        else end(reading.reply() ?? failureOf(error, connection.stage()), false);
      },
    };
    const send = (): void => {
      connection.client.dispatch(dispatchOptions(url, request), handler);
    };
    /** The server gave the idle connection up before a byte of the request was written to it. */
    const sendAnew = (): void => {
      idle?.destroy();
      connection = pool.open(url.origin);
      send();
    };

    const deadline = setTimeout(cutShort, timeoutMs);
    let stageLimit = setTimeout(cutShort, CONNECT_MS);
    send();
  });
}

const FLOODED: Reply = { kind: 'unanswered', error: 'invalid_response', detail: 'no end before an answer' };

function dispatchOptions(url: URL, request: WebhookRequest): Dispatcher.DispatchOptions {
  return {
    origin: url.origin,
    path: url.pathname + url.search,
    method: 'POST',
    headers: request.headers,
    body: Buffer.from(request.body),
  };
}

function failureOf(error: Error, stage: Stage): Reply {
  return error instanceof ForbiddenAddress
    ? { kind: 'forbidden' }
    : { kind: 'unanswered', ...faultOf(error, stage) };
}
