import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

import type { Reply } from '../../domain/delivery/outcome.ts';
import { parseSubscriberUrl } from '../../domain/subscription/subscriber-url.ts';
import type { WebhookRequest } from '../../domain/delivery/webhook-request.ts';
import type { Subscriber } from '../../ports/subscriber.ts';
import { addressGuard, type AllowedPlaces } from './address-guard.ts';
import { connect, type Connector } from './connection.ts';
import {
  faultOf,
  ForbiddenAddress,
  requestNotSentError,
  type ConnectionStage,
  timeoutFault,
} from './connection-fault.ts';
import { type Amount, exchange, MAX_RECEIVED } from './exchange.ts';
import { type IdleConnections, idleConnections } from './idle-connections.ts';
import { nameResolver, type Resolve } from './resolver.ts';

export type HttpSubscriberOptions = AllowedPlaces & {
  /** PEM certificates of authorities that are trusted besides the public ones. Default: none. */
  trustedCertificates?: readonly string[];
  /** Default: a `nameResolver`. */
  resolve?: Resolve;
  /** Milliseconds since the epoch. Default: the system clock. */
  now?: () => number;
};

/** Milliseconds, for DNS, TCP and TLS together. */
const CONNECT_MS = 5_000;

/**
 * Most data before the status, shared evenly by all concurrent attempts. Parsing a header line takes about 3 µs and
 * 400 bytes, however short it is. With ten concurrent attempts each may receive 400 KB and 12,000 lines, with a
 * hundred 40 KB and 1,200.
 */
const MOST_BEFORE_STATUS: Amount = { bytes: 4 * 1024 * 1024, lines: 120_000 };

/**
 * Posts to subscribers over HTTP/1.1. `post` returns a reply within `timeoutMs`, even if the subscriber
 * misbehaves.
 * @throws InvalidAddressRange
 * @throws InvalidPortRange
 */
export function httpSubscriber(options: HttpSubscriberOptions): Subscriber {
  const sender: Sender = {
    connector: {
      guard: addressGuard(options),
      resolve: options.resolve ?? nameResolver(),
      secureContext: secureContextFor(options.trustedCertificates ?? []),
    },
    idle: idleConnections(options.now ?? Date.now),
    beforeStatus: () => ({
      bytes: Math.min(MAX_RECEIVED, MOST_BEFORE_STATUS.bytes / inFlight),
      lines: MOST_BEFORE_STATUS.lines / inFlight,
    }),
  };
  let inFlight = 0;
  return {
    post: async (request, timeoutMs) => {
      const target = parseSubscriberUrl(request.url);
      if (target.kind === 'invalid') return { kind: 'forbidden' };
      inFlight += 1;
      try {
        return await postOnce(sender, target.url, request, timeoutMs);
      } finally {
        inFlight -= 1;
      }
    },
  };
}

type Sender = { connector: Connector; idle: IdleConnections; beforeStatus: () => Amount };

function secureContextFor(trustedCertificates: readonly string[]): SecureContext {
  return createSecureContext({
    minVersion: 'TLSv1.2',
    ...(trustedCertificates.length === 0
      ? {}
      : { ca: [...getCACertificates('default'), ...trustedCertificates] }),
  });
}

async function postOnce(
  { connector, idle, beforeStatus }: Sender,
  url: URL,
  request: WebhookRequest,
  timeoutMs: number,
): Promise<Reply> {
  const attempt = new AbortController();
  const giveUp = (): void => {
    attempt.abort();
  };
  const deadline = setTimeout(giveUp, timeoutMs);
  const connectLimit = setTimeout(giveUp, CONNECT_MS);
  const { signal } = attempt;
  let stage: ConnectionStage = 'resolving';
  const reached = (next: ConnectionStage): void => {
    stage = next;
  };
  try {
    const socket = (await idle.take(url.origin)) ?? (await connect(url, connector, { signal, reached }));
    clearTimeout(connectLimit);
    const { reply, isReusable } = await exchange(socket, url, request, { signal, beforeStatus });
    if (isReusable) idle.put(url.origin, socket);
    return reply;
  } catch (error) {
    if (error instanceof ForbiddenAddress) return { kind: 'forbidden' };
    const notSent = requestNotSentError(error);
    if (notSent !== undefined) throw notSent;
    return { kind: 'unanswered', ...(signal.aborted ? timeoutFault(stage) : faultOf(error, stage)) };
  } finally {
    clearTimeout(deadline);
    clearTimeout(connectLimit);
  }
}
