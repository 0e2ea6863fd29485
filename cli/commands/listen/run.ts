import type { ApiClient } from '../../../api-client/api-client.ts';
import { subscribe, unsubscribe } from '../../../api-client/operations.ts';
import { newQueueNotice } from '../../api/find-subscription.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { orAfter, untilAborted } from '../../interruption.ts';
import { objectText, textOf } from '../../options/arguments.ts';
import type { DeploymentOptions } from '../../options/deployment-options.ts';
import { readSecret } from '../../options/input.ts';
import { printable } from '../../output/printable.ts';
import { clockTime } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';
import {
  type AnswerScript,
  type ScriptedAnswer,
  startWebhookReceiver,
  type Verdict,
  type Verifier,
  verifierFor,
  type Webhook,
} from './webhook-receiver.ts';

export type ListenOptions = DeploymentOptions & {
  port?: number;
  path: string;
  answer: AnswerScript;
  secretFile?: string;
  subscribe?: string;
  url?: string;
  policy?: string;
  count?: number;
  for?: number;
};

/** Receives webhooks until the signal, `--for` or `--count`; then deletes the subscription that it created. */
export async function runListen(
  options: ListenOptions,
  signal: AbortSignal,
  terminal: Terminal,
): Promise<void> {
  const countReached = new AbortController();
  const secret = { verifier: await givenVerifier(options, terminal) };
  let answered = 0;
  const receiver = await startWebhookReceiver({
    port: options.port,
    path: options.path,
    script: options.answer,
    verifier: () => secret.verifier,
    onWebhook: (webhook) => {
      terminal.printResult(options, webhookJson(webhook), () => webhookBlock(webhook));
    },
    onAnswered: () => {
      answered += 1;
      if (answered === options.count) countReached.abort();
    },
  });
  try {
    const subscription = await subscribeReceiver(options, options.url ?? receiver.url, terminal);
    try {
      secret.verifier ??= subscription?.verifier;
      // On stderr: stdout contains only requests.
      terminal.printError(
        `Listening on ${receiver.url}${subscription === undefined ? '' : `, subscribed to ${subscription.queue}`}.`,
      );
      // The timer of a signal does not keep the process running; the server does.
      await untilAborted(orAfter(AbortSignal.any([signal, countReached.signal]), options.for));
    } finally {
      await subscription?.end();
    }
  } finally {
    await receiver.close();
  }
}

async function givenVerifier(
  { secretFile }: ListenOptions,
  terminal: Terminal,
): Promise<Verifier | undefined> {
  const secret =
    secretFile === undefined
      ? terminal.env['POSTHASTE_WEBHOOK_SECRET']
      : await readSecret(secretFile, terminal);
  return secret === undefined ? undefined : verifierFor(secret);
}

type TemporarySubscription = { queue: string; verifier?: Verifier; end: () => Promise<void> };

async function subscribeReceiver(
  options: ListenOptions,
  url: string,
  terminal: Terminal,
): Promise<TemporarySubscription | undefined> {
  const { subscribe: queue, policy } = options;
  if (queue === undefined) return undefined;
  const api: ApiClient = await openApiToWrite(options, terminal);
  const body = objectText([
    ['subscriber', textOf(url)],
    ['options', policy === undefined ? undefined : objectText([['_retry_policy', policy]])],
  ]);
  const sayIfNew = await newQueueNotice(api, queue, terminal);
  const created = await api.call(subscribe, { path: { queue }, body });
  sayIfNew();
  return {
    queue,
    ...(created.secret !== undefined && { verifier: verifierFor(created.secret) }),
    end: async () => {
      await api.call(unsubscribe, { path: { queue, subscription: created.subscription_id } });
      terminal.printError(`Deleted subscription ${printable(created.subscription_id)}.`);
    },
  };
}

/** Characters of a body in the text output; JSON output has all of it. */
const MAX_SHOWN = 4000;

/** A request as a text block: time, message, answer, headers and body. */
export function webhookBlock(webhook: Webhook): string {
  const { at, method, path, headers, body, messageId, count, secondsSince, answer, verdict } = webhook;
  const text = body.toString();
  const since = secondsSince === undefined ? '' : `, ${secondsSince.toFixed(1)} s after the previous request`;
  const signature = verdict === undefined ? [] : [verdictText(verdict)];
  return [
    `${clockTime(at)}  ${printable(messageId ?? 'without webhook-id')}  #${count}${since}  → ${answerText(answer)}`,
    `  ${printable(method)} ${printable(path)}`,
    ...Object.entries(headers).map(([name, value]) => `  ${printable(name)}: ${printable(value)}`),
    ...signature.map((line) => `  ${line}`),
    `  ${printable(text.slice(0, MAX_SHOWN))}${text.length > MAX_SHOWN ? ` … (${body.length} bytes in total)` : ''}`,
    '',
  ].join('\n');
}

/** A request as JSON. Bytes of the body that are not UTF-8 are replaced. */
function webhookJson({ body, answer, verdict, ...webhook }: Webhook): object {
  return {
    ...webhook,
    body: body.toString(),
    answer: answer.status,
    ...(verdict && { verified: verdict.verified, ...(!verdict.verified && { why: verdict.why }) }),
  };
}

function verdictText(verdict: Verdict): string {
  return verdict.verified ? 'Signature: valid' : `Signature: INVALID (${printable(verdict.why)})`;
}

function answerText({ status, delaySeconds, retryAfterSeconds }: ScriptedAnswer): string {
  return [
    String(status),
    ...(delaySeconds === undefined ? [] : [`after ${delaySeconds} s`]),
    ...(retryAfterSeconds === undefined ? [] : [`retry-after ${retryAfterSeconds}`]),
  ].join(', ');
}
