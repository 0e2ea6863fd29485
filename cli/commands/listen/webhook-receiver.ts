import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { boundedBody } from '../../bounded-body.ts';
import { startLoopbackServer, type Exchange } from '../../loopback/loopback-server.ts';
import { answerAt, type AnswerScript, type ScriptedAnswer } from './answer-script.ts';
import type { Verdict, Verifier } from './verification.ts';

export type Webhook = {
  /** RFC 3339. */
  at: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  /** `webhook-id`. */
  messageId?: string;
  /** Number of requests for this message so far, including this one. */
  count: number;
  /** Seconds since the previous request for this message. */
  secondsSince?: number;
  answer: ScriptedAnswer;
  /** Absent without a secret. */
  verdict?: Verdict;
};

export type ReceiverOptions = {
  port?: number | undefined;
  /** Requests for other paths get 404 and are not shown. */
  path: string;
  script: AnswerScript;
  /** Called for every request: the secret may become known only after subscribing. */
  verifier: () => Verifier | undefined;
  onWebhook: (webhook: Webhook) => void;
  /** Called after the answer was sent or the connection was reset. */
  onAnswered: () => void;
};

export type WebhookReceiver = { url: string; close: () => Promise<void> };

/** Larger than any request of Posthaste. */
const MAX_BYTES = 2 * 1024 * 1024;
/** Maximum number of messages to count; the oldest are dropped. */
const MAX_MESSAGES = 10_000;

/**
 * Starts a receiver on 127.0.0.1. Each message starts at the beginning of the script, so that its requests show the
 * policy.
 * @throws Problem when the port is in use.
 */
export async function startWebhookReceiver(options: ReceiverOptions): Promise<WebhookReceiver> {
  const seen = new Map<string, { count: number; at: number }>();
  const stopping = new AbortController();

  const receive = async ({ request, response }: Exchange): Promise<void> => {
    const body = await boundedBody(request, MAX_BYTES);
    const path = request.url ?? '/';
    if (body === undefined || path.split('?')[0] !== options.path) {
      response.writeHead(body === undefined ? 413 : 404, { connection: 'close' }).end();
      return;
    }
    const headers = headersOf(request);
    const times = countRequest(seen, headers['webhook-id']);
    const answer = answerAt(options.script, times.count - 1);
    const verdict = options.verifier()?.(body, headers);
    options.onWebhook({
      at: new Date().toISOString(),
      method: request.method ?? '',
      path,
      headers,
      body,
      ...times,
      answer,
      ...(verdict && { verdict }),
    });
    await respond(answer, response, stopping.signal);
    options.onAnswered();
  };

  // A request fails where its caller has disconnected, or the receiver is closing.
  const server = await startLoopbackServer(receive, options.port);
  return {
    url: server.url + options.path,
    close: () => {
      stopping.abort();
      return server.close();
    },
  };
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

/** Counts a request for its message. Requests without a `webhook-id` count as one message. */
function countRequest(
  seen: Map<string, { count: number; at: number }>,
  id: string | undefined,
): Pick<Webhook, 'messageId' | 'count' | 'secondsSince'> {
  const key = id ?? '';
  const at = Date.now();
  const before = seen.get(key);
  const count = (before?.count ?? 0) + 1;
  seen.delete(key);
  seen.set(key, { count, at });
  forgetOldest(seen);
  return {
    ...(id !== undefined && { messageId: id }),
    count,
    ...(before && { secondsSince: (at - before.at) / 1000 }),
  };
}

function forgetOldest(seen: Map<string, unknown>): void {
  const [oldest] = seen.keys();
  if (seen.size > MAX_MESSAGES && oldest !== undefined) seen.delete(oldest);
}

async function respond(
  { status, delaySeconds = 0, retryAfterSeconds }: ScriptedAnswer,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  if (delaySeconds > 0) await pause(delaySeconds * 1000, undefined, { signal });
  if (status === 'hang') return;
  if (status === 'reset') {
    response.req.socket.resetAndDestroy();
    return;
  }
  if (retryAfterSeconds !== undefined) response.setHeader('retry-after', retryAfterSeconds);
  response.writeHead(status).end();
  await finished(response);
}
