import { parseSubscriberUrl } from '../../domain/subscription/subscriber-url.ts';
import type { WebhookRequest } from '../../domain/delivery/webhook-request.ts';
import type { ClientTls } from '../../ports/subscriber.ts';
import { addressGuard, type AddressGuard, type AllowedPlaces } from './address-guard.ts';
import { clientCertificates, type TlsIdentity, connect } from './connection.ts';
import {
  classifyFault,
  ForbiddenAddress,
  requestNotSentError,
  type ConnectionStage,
  timeoutFault,
} from './connection-fault.ts';
import {
  type ReceivedAmount,
  exchange,
  type Exchanged,
  MAX_RECEIVED,
  type ReplyReading,
} from './exchange.ts';
import { idleConnections } from './idle-connections.ts';
import { nameResolver, type Resolve } from './resolver.ts';

export type HttpSenderOptions = AllowedPlaces & {
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
const MAX_BEFORE_STATUS: ReceivedAmount = { bytes: 4 * 1024 * 1024, lines: 120_000 };

type Sending = { timeoutMs: number; tls?: ClientTls | undefined; reading: ReplyReading };

/** `isWhole`: the response has arrived completely. @throws RequestNotSentError */
export type Send = (
  request: WebhookRequest,
  sending: Sending,
) => Promise<Pick<Exchanged, 'reply' | 'isWhole'>>;

/**
 * Sends requests over HTTP/1.1, each with a reply within `timeoutMs`, even if the receiver misbehaves.
 * @throws InvalidAddressRange
 * @throws InvalidPortRange
 */
export function httpSender(options: HttpSenderOptions): Send {
  const sender: Sender = {
    guard: addressGuard(options),
    resolve: options.resolve ?? nameResolver(),
    identityFor: clientCertificates(options.trustedCertificates ?? []),
    idle: idleConnections(options.now ?? Date.now),
    beforeStatus: () => ({
      bytes: Math.min(MAX_RECEIVED, MAX_BEFORE_STATUS.bytes / inFlight),
      lines: MAX_BEFORE_STATUS.lines / inFlight,
    }),
  };
  let inFlight = 0;
  return async (request, sending) => {
    const target = parseSubscriberUrl(request.url);
    if (target.kind === 'invalid') return { reply: { kind: 'forbidden' }, isWhole: false };
    inFlight += 1;
    try {
      return await sendOnce(sender, target.url, request, sending);
    } finally {
      inFlight -= 1;
    }
  };
}

type Sender = {
  guard: AddressGuard;
  resolve: Resolve;
  identityFor: (tls: ClientTls | undefined) => TlsIdentity;
  idle: ReturnType<typeof idleConnections>;
  beforeStatus: () => ReceivedAmount;
};

async function sendOnce(
  { guard, resolve, identityFor, idle, beforeStatus }: Sender,
  url: URL,
  request: WebhookRequest,
  { timeoutMs, tls, reading }: Sending,
): ReturnType<Send> {
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
    const { name, secureContext } = identityFor(tls);
    // A connection is authenticated as its certificate, so it serves no other.
    const peer = `${url.origin} ${name}`;
    const socket =
      (await idle.take(peer)) ?? (await connect(url, { guard, resolve, secureContext }, { signal, reached }));
    clearTimeout(connectLimit);
    const exchanged = await exchange(socket, url, request, { reading, signal, beforeStatus });
    if (exchanged.isReusable) idle.put(peer, socket);
    return exchanged;
  } catch (error) {
    if (error instanceof ForbiddenAddress) return { reply: { kind: 'forbidden' }, isWhole: false };
    const notSent = requestNotSentError(error);
    if (notSent !== undefined) throw notSent;
    const fault = signal.aborted ? timeoutFault(stage) : classifyFault(error, stage);
    return { reply: { kind: 'unanswered', ...fault }, isWhole: false };
  } finally {
    clearTimeout(deadline);
    clearTimeout(connectLimit);
  }
}
