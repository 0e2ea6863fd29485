import type { ApiClient } from '../../../api-client/api-client.ts';
import { subscribe, unsubscribe } from '../../../api-client/operations.ts';
import { newQueueNotice } from '../../api/missing-queue.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { untilAborted } from '../../interruption.ts';
import type { DeploymentOptions } from '../../options/deployment-options.ts';
import { readSecret } from '../../options/input.ts';
import { objectText, textOf } from '../../options/json-text.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import type { AnswerScript } from './answer-script.ts';
import { verifierFor, type Verifier } from './verification.ts';
import { startWebhookReceiver } from './webhook-receiver.ts';
import { webhookBlock, webhookJson } from './webhook-text.ts';

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
      if (options.json === true) terminal.printJson(webhookJson(webhook));
      else terminal.print(webhookBlock(webhook));
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
      await untilEnd([signal, countReached.signal], options.for);
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

async function untilEnd(signals: AbortSignal[], seconds: number | undefined): Promise<void> {
  const timeout = seconds === undefined ? [] : [AbortSignal.timeout(seconds * 1000)];
  // The timer of AbortSignal.timeout does not keep the process running; the server does.
  await untilAborted(AbortSignal.any([...signals, ...timeout]));
}
