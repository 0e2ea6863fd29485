import { createHash } from 'node:crypto';
import { verifyWebhook, WebhookVerificationError } from '../../client/verify.ts';

/** The header in which a subscription of the acceptance brings the key that its requests are signed with. */
export const KEY_HEADER = 'posthaste-acceptance-key';

/** How a receiver answers. `retryAfter`: seconds. */
export type Behaviour = { status: number; retryAfter?: number };

/** The URL of a receiver that behaves so. `key`: tells the requests of one check from all others. */
export function behavingUrl(base: string, key: string, { status, retryAfter }: Behaviour): string {
  const url = new URL(`${base.replace(/\/$/, '')}/${key}`);
  url.searchParams.set('status', String(status));
  if (retryAfter !== undefined) url.searchParams.set('retry-after', String(retryAfter));
  return url.href;
}

export type ReceivedRequest = {
  /** With the query. */
  path: string;
  headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  body: Uint8Array;
};

/** What a receiver saw of a request. `signature`: `valid`, or why not. */
export type Seen = {
  key: string;
  messageId: string;
  /** When it arrived, and when its attempt began, to the second. Milliseconds since the epoch. */
  at: number;
  startedAt: number;
  signature: string;
  bytes: number;
  sha256: string;
  status: number;
};

/** What a receiver answers to a request, and what it saw. It keeps no state: any instance gives the same answer. */
export function receive({ path, headers, body }: ReceivedRequest, at: number) {
  const { pathname, searchParams } = new URL(path, 'http://receiver.invalid');
  const status = Number(searchParams.get('status') ?? 200);
  const retryAfter = searchParams.get('retry-after');
  const seen: Seen = {
    key: pathname.split('/').at(-1) ?? '',
    messageId: headerOf(headers, 'webhook-id'),
    at,
    startedAt: Number(headerOf(headers, 'webhook-timestamp')) * 1000,
    signature: judgeSignature(headers, body),
    bytes: body.byteLength,
    sha256: sha256(body),
    status,
  };
  return { seen, answer: { status, headers: retryAfter === null ? {} : { 'retry-after': retryAfter } } };
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function judgeSignature(headers: ReceivedRequest['headers'], body: Uint8Array): string {
  const key = headerOf(headers, KEY_HEADER);
  if (key === '') return 'the request brings no key';
  try {
    verifyWebhook(body, headers, key);
    return 'valid';
  } catch (error) {
    if (error instanceof WebhookVerificationError || error instanceof TypeError) return error.message;
    throw error;
  }
}

function headerOf(headers: ReceivedRequest['headers'], name: string): string {
  return [headers[name] ?? ''].flat().join(' ');
}
