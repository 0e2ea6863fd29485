import type { ConnectionFault } from '../../domain/retry/vocabulary.ts';
import { RequestNotSentError } from '../../ports/subscriber.ts';

/** The stage that a connection has reached. */
export type ConnectionStage = 'resolving' | 'connecting' | 'securing' | 'connected';

/** The address guard refused at least one address of the host name. */
export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';
  constructor() {
    super('The URL leads to a forbidden address.');
  }
}

/** The name has no address, or DNS did not answer. */
export class NameNotResolved extends Error {
  override readonly name = 'NameNotResolved';
  constructor(cause: unknown) {
    super('The name could not be resolved.', { cause });
  }
}

/** Our side ended TLS. The message is the detail of the fault, so it names nothing of the input. */
export class TlsFailed extends Error {
  override readonly name = 'TlsFailed';
}

/**
 * System error codes when this process or machine is out of descriptors, buffers or memory. EADDRNOTAVAIL is not
 * included: a function without IPv6 also gets it from a subscriber that has only IPv6.
 */
const LOCAL_CODES: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/** The error to throw if a look-up or connection failed for lack of a local resource; otherwise undefined. */
export function requestNotSentError(error: unknown): RequestNotSentError | undefined {
  if (error instanceof RequestNotSentError) return error;
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
  const code = errors.map(findErrorCode).find((one) => LOCAL_CODES.has(one));
  return code === undefined ? undefined : new RequestNotSentError(code);
}

type Fault = { error: ConnectionFault; detail: string };

/**
 * Names the fault that occurred before a response. Details consist of our texts and of error codes, never of
 * error messages, because those contain addresses.
 */
export function classifyFault(error: unknown, stage: ConnectionStage): Fault {
  if (error instanceof NameNotResolved) return { error: 'dns_failed', detail: findErrorCode(error.cause) };
  if (error instanceof TlsFailed) return { error: 'tls_failed', detail: error.message };
  if (error instanceof AggregateError) return mostInformative(error.errors, stage);
  const code = findErrorCode(error);
  return (
    socketFault(code, error, stage) ??
    tlsFault(code, stage) ??
    parserFault(code) ?? { error: 'connection_failed', detail: code }
  );
}

const DURING: Record<ConnectionStage, string> = {
  resolving: 'while the name was resolved',
  connecting: 'while the connection was made',
  securing: 'during the TLS handshake',
  connected: 'before an answer',
};

/** The fault when a deadline passes before any response. */
export function timeoutFault(stage: ConnectionStage): Fault {
  return { error: 'timeout', detail: DURING[stage] };
}

/**
 * The most informative fault after several addresses were tried: a refused connection says more than a missing
 * route.
 */
function mostInformative(failures: readonly unknown[], stage: ConnectionStage): Fault {
  const faults = failures.map((error) => classifyFault(error, stage));
  return (
    faults.find((fault) => fault.error !== 'connection_failed') ??
    faults[0] ?? { error: 'connection_failed', detail: DURING[stage] }
  );
}

function socketFault(code: string, error: unknown, stage: ConnectionStage): Fault | undefined {
  switch (code) {
    case 'ECONNREFUSED':
      return { error: 'connection_refused', detail: 'refused' };
    case 'ECONNRESET':
    case 'EPIPE':
      return {
        error: 'connection_reset',
        detail: `${isHangUp(error) ? 'closed' : 'reset'} ${DURING[stage]}`,
      };
    case 'ETIMEDOUT':
      return timeoutFault(stage);
    default:
      return undefined;
  }
}

/** Node reports a connection closed by the peer with the code of a reset. */
function isHangUp(error: unknown): boolean {
  return error instanceof Error && error.message === 'socket hang up';
}

const TLS_DETAILS: ReadonlyMap<string, string> = new Map([
  ['CERT_HAS_EXPIRED', 'certificate expired'],
  ['CERT_NOT_YET_VALID', 'certificate not yet valid'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate is for another name'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate issuer unknown'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'certificate issuer unknown'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'certificate issuer unknown'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'certificate issuer unknown'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate issuer unknown'],
]);

/** Alerts that servers send about the client's certificate (RFC 8446 §6.2). */
const CLIENT_CERTIFICATE_ALERT =
  /ALERT_(?<what>CERTIFICATE_REQUIRED|BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_REVOKED|CERTIFICATE_EXPIRED|CERTIFICATE_UNKNOWN|UNKNOWN_CA|ACCESS_DENIED)$/;

function tlsDetail(code: string): string {
  const alert = CLIENT_CERTIFICATE_ALERT.exec(code)?.groups?.['what'];
  if (alert === undefined) return TLS_DETAILS.get(code) ?? code;
  if (alert === 'CERTIFICATE_REQUIRED') return 'client certificate required';
  return `client certificate refused (${alert.toLowerCase().replaceAll('_', ' ')})`;
}

/** With TLS 1.3 a server's alert may arrive after our side of the handshake, hence the prefixes. */
function tlsFault(code: string, stage: ConnectionStage): Fault | undefined {
  return stage === 'securing' || /^ERR_(SSL|TLS)_/.test(code)
    ? { error: 'tls_failed', detail: tlsDetail(code) }
    : undefined;
}

/** Maps the codes of Node's HTTP parser. */
function parserFault(code: string): Fault | undefined {
  if (!code.startsWith('HPE_')) return undefined;
  return { error: 'invalid_response', detail: code === 'HPE_HEADER_OVERFLOW' ? code : 'not HTTP/1.1' };
}

export function findErrorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
}
