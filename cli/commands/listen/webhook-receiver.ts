import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { boundedBody } from '../../bounded-body.ts';
import { loopbackPort } from '../../../local/loopback-port.ts';
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
  /** How often this message has come, this time included. */
  count: number;
  /** Since it came before. */
  secondsSince?: number;
  answer: ScriptedAnswer;
  /** Absent where no secret was given. */
  verdict?: Verdict;
};

export type ReceiverOrder = {
  port?: number;
  /** Others are answered with 404, and not shown. */
  path: string;
  script: AnswerScript;
  /** Asked at every request: the secret may be known only once it is subscribed. */
  verifier: () => Verifier | undefined;
  onWebhook: (webhook: Webhook) => void;
  /** It has had its answer, if there is one. */
  onAnswered: () => void;
};

export type WebhookReceiver = { url: string; close: () => Promise<void> };

/** More than Posthaste sends. */
const MOST_BYTES = 2 * 1024 * 1024;
/** Messages whose count is kept; of the oldest it is forgotten then. */
const MOST_MESSAGES = 10_000;

/**
 * A receiver on 127.0.0.1. Each message goes through the script from its beginning, so that its deliveries show the policy.
 * @throws Problem when the port is taken.
 */
export async function startWebhookReceiver(order: ReceiverOrder): Promise<WebhookReceiver> {
  const seen = new Map<string, { count: number; at: number }>();
  const stopping = new AbortController();

  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await boundedBody(request, MOST_BYTES);
    const path = request.url ?? '/';
    if (body === undefined || path.split('?')[0] !== order.path) {
      response.writeHead(body === undefined ? 413 : 404, { connection: 'close' }).end();
      return;
    }
    const headers = headersOf(request);
    const times = timesOf(seen, headers['webhook-id']);
    const answer = answerAt(order.script, times.count - 1);
    const verdict = order.verifier()?.(body, headers);
    order.onWebhook({
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
    order.onAnswered();
  };

  const server = createServer((request, response) => {
    receive(request, response).catch(() => {
      // The caller has gone, or we are closing: there is nobody to answer.
      response.destroy();
    });
  });
  const port = await loopbackPort(order.port);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${port}${order.path}`,
    close: () =>
      new Promise((resolve) => {
        stopping.abort();
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

/** Requests without a `webhook-id` are one message. */
function timesOf(
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
  if (seen.size > MOST_MESSAGES && oldest !== undefined) seen.delete(oldest);
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
