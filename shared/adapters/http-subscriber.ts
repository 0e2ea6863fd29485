import { createSecureContext, getCACertificates } from 'node:tls';
import type { SecureContext } from 'node:tls';

import type { Dispatcher } from 'undici';

import type { Reply } from '../domain/outcome.ts';
import { parseSubscriberUrl } from '../domain/subscriber-url.ts';
import type { WebhookRequest } from '../domain/webhook-request.ts';
import type { Subscriber } from '../ports/subscriber.ts';
import { addressGuard } from './address-guard.ts';
import type { AllowedPlaces } from './address-guard.ts';
import { faultOf, ForbiddenAddress, timeoutFault } from './connection-fault.ts';
import type { Stage } from './connection-fault.ts';
import { connectionPool } from './connection-pool.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { resolveBySystem } from './guarded-connector.ts';
import type { Resolve } from './guarded-connector.ts';
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
/** Informational answers (RFC 9110 §15.2) before the one that counts. Servers send one or two; each takes our processor. */
const MAX_INFORMATIONAL = 100;

/**
 * Posts to subscribers over HTTP/1.1. Whatever the far end does, `post` ends with a reply within `timeoutMs`.
 * @throws InvalidAddressRange
 * @throws InvalidPortRange
 */
export const httpSubscriber = (options: HttpSubscriberOptions): Subscriber => {
  const pool = connectionPool(
    {
      guard: addressGuard(options),
      resolve: options.resolve ?? resolveBySystem,
      secureContext: secureContextFor(options.trustedCertificates ?? []),
    },
    options.now ?? Date.now,
  );
  return {
    post: async (request, timeoutMs) => {
      const target = parseSubscriberUrl(request.url);
      return target.kind === 'valid' ? exchange(pool, target.url, request, timeoutMs) : { kind: 'forbidden' };
    },
  };
};

const secureContextFor = (trustedCertificates: readonly string[]): SecureContext =>
  createSecureContext({
    minVersion: 'TLSv1.2',
    ...(trustedCertificates.length === 0
      ? {}
      : { ca: [...getCACertificates('default'), ...trustedCertificates] }),
  });

/** One request and its answer. The first thing that ends it decides; what comes later finds it ended. */
const exchange = (
  pool: ConnectionPool,
  url: URL,
  request: WebhookRequest,
  timeoutMs: number,
): Promise<Reply> =>
  new Promise((resolve) => {
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
        connection.limit(MAX_RECEIVED, flooded);
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

const FLOODED: Reply = { kind: 'unanswered', error: 'invalid_response', detail: 'no end before an answer' };

const dispatchOptions = (url: URL, request: WebhookRequest): Dispatcher.DispatchOptions => ({
  origin: url.origin,
  path: url.pathname + url.search,
  method: 'POST',
  headers: request.headers,
  body: Buffer.from(request.body),
});

const failureOf = (error: Error, stage: Stage): Reply =>
  error instanceof ForbiddenAddress
    ? { kind: 'forbidden' }
    : { kind: 'unanswered', ...faultOf(error, stage) };
