import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { InvalidArgumentError } from 'commander';
import { LRUCache } from 'lru-cache';
import { verifyWebhook, WebhookVerificationError } from '../../../client/verify.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { parseSecret, SECRET_RULE } from '../../../shared/domain/subscription/signing-secret.ts';
import { boundedBody } from '../../bounded-body.ts';
import { type Exchange, type LoopbackServer, startLoopbackServer } from '../../loopback/loopback-server.ts';

/** One answer to a request. `hang`: no answer; `reset`: the connection is reset. */
export type ScriptedAnswer = {
  status: number | 'hang' | 'reset';
  delaySeconds?: number;
  retryAfterSeconds?: number;
};

/** Never empty; the last answer repeats. */
export type AnswerScript = readonly [ScriptedAnswer, ...ScriptedAnswer[]];

export const SCRIPT_FORM =
  'STATUS[xCOUNT][:delay=SECONDS][:retry-after=SECONDS]; STATUS is 200 to 599, hang or reset';

const MAX_ANSWERS = 10_000;
const ITEM =
  /^(?<what>[2-5]\d\d|hang|reset)(?:x(?<count>[1-9]\d{0,3}))?(?<settings>(?::[a-z-]+=\d{1,5}(?:\.\d{1,3})?)*)$/;

/** Parses a script such as `500x3,200` or `503:retry-after=30:delay=0.5,200`. */
export function parseAnswerScript(text: string): AnswerScript {
  const answers = text.split(',').flatMap((item) => parseAnswers(item.trim()));
  const [first, ...others] = answers;
  if (first === undefined || answers.length > MAX_ANSWERS)
    throw new InvalidArgumentError(`Expected answers separated by commas, each ${SCRIPT_FORM}.`);
  return [first, ...others];
}

function parseAnswers(item: string): ScriptedAnswer[] {
  const { what, count = '1', settings = '' } = ITEM.exec(item)?.groups ?? {};
  if (what === undefined) throw new InvalidArgumentError(`Expected ${SCRIPT_FORM}; not "${item}".`);
  const status = what === 'hang' || what === 'reset' ? what : Number(what);
  const answer = settings
    .split(':')
    .slice(1)
    .reduce<ScriptedAnswer>((before, setting) => ({ ...before, ...parseSetting(setting) }), { status });
  return Array.from({ length: Number(count) }, () => answer);
}

function parseSetting(text: string): Partial<ScriptedAnswer> {
  const [name, value] = text.split('=');
  if (name === 'delay') return { delaySeconds: Number(value) };
  if (name === 'retry-after') return { retryAfterSeconds: Math.ceil(Number(value)) };
  throw new InvalidArgumentError(`Expected delay or retry-after, not ${name ?? ''}.`);
}

/** The answer to the nth request for a message, from 0. */
function answerAt(script: AnswerScript, index: number): ScriptedAnswer {
  return script[index] ?? script.at(-1) ?? script[0];
}

export type Verdict = { verified: true } | { verified: false; why: string };

export type Verifier = (body: Buffer, headers: IncomingHttpHeaders) => Verdict;

/**
 * A verifier for `whsec_…` (shared secret, v1) or `whpk_…` (public key, v1a; Standard Webhooks).
 * @throws Problem without the secret in it
 */
export function verifierFor(key: string): Verifier {
  const verdictOn: Verifier = (body, headers) => {
    try {
      verifyWebhook(body, headers, key);
      return { verified: true };
    } catch (error) {
      if (error instanceof WebhookVerificationError) return { verified: false, why: error.message };
      throw error;
    }
  };
  try {
    if (key.startsWith('whsec_') && parseSecret(key) === undefined) throw new TypeError(SECRET_RULE);
    // A malformed key fails here, not at the first webhook.
    verdictOn(Buffer.alloc(0), {});
  } catch (cause) {
    throw new Problem('The key has the wrong form. Expected whsec_ or whpk_, followed by base64.', { cause });
  }
  return verdictOn;
}

export type Webhook = {
  /** RFC 3339. */
  at: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  /** `webhook-id`. */
  messageId: string | undefined;
  /** Number of requests for this message so far, including this one. */
  count: number;
  /** Seconds since the previous request for this message. */
  secondsSince: number | undefined;
  answer: ScriptedAnswer;
  /** Undefined without a secret. */
  verdict: Verdict | undefined;
};

type ReceiverOptions = {
  port?: number | undefined;
  /** Requests for other paths get 404 and are not shown. */
  path: string;
  script: AnswerScript;
  /** Called for every request: the secret may become known only after subscribing. */
  verifier: () => Verifier | undefined;
  onWebhook: (webhook: Webhook) => void;
  /** Called after the answer was sent or the connection was reset. */
  onAnswered: (webhook: Webhook) => void;
};

export type WebhookReceiver = Pick<LoopbackServer, 'url' | 'close'>;

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
  const seen: Seen = new LRUCache({ max: MAX_MESSAGES });
  const stopping = new AbortController();

  const receive = async ({ request, response }: Exchange): Promise<void> => {
    const body = await boundedBody(request, MAX_BYTES);
    const path = request.url ?? '/';
    if (body === undefined || path.split('?')[0] !== options.path) {
      response.writeHead(body === undefined ? 413 : 404, { connection: 'close' }).end();
      return;
    }
    const headers = joinHeaders(request);
    const times = countRequest(seen, headers['webhook-id']);
    const answer = answerAt(options.script, times.count - 1);
    const verdict = options.verifier()?.(body, headers);
    const webhook: Webhook = {
      at: new Date().toISOString(),
      method: request.method ?? '',
      path,
      headers,
      body,
      ...times,
      answer,
      verdict,
    };
    options.onWebhook(webhook);
    await respond(answer, response, stopping.signal);
    options.onAnswered(webhook);
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

function joinHeaders({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

/** By message: how many requests there were, and the time of the latest. */
type Seen = LRUCache<string, { count: number; at: number }>;

/** Counts a request for its message. Requests without a `webhook-id` count as one message. */
function countRequest(
  seen: Seen,
  id: string | undefined,
): Pick<Webhook, 'messageId' | 'count' | 'secondsSince'> {
  const key = id ?? '';
  const at = Date.now();
  const before = seen.get(key);
  const count = (before?.count ?? 0) + 1;
  seen.set(key, { count, at });
  return { messageId: id, count, secondsSince: before && (at - before.at) / 1000 };
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
