import { InvalidArgumentError } from 'commander';
import { subscribe, unsubscribe } from '../../../api-client/operations.ts';
import { newQueueNotice } from '../../api/find-subscription.ts';
import { openApiToWrite } from '../../api/api-access.ts';
import { orAfter, untilAborted } from '../../interruption.ts';
import {
  jsonText,
  objectText,
  option,
  parseDuration,
  parseQueue,
  PORT,
  wholeNumber,
} from '../../options/arguments.ts';
import { deployed } from '../../options/deployed.ts';
import type { DeploymentOptions } from '../../options/deployment-options.ts';
import { parsePolicy, readSecret } from '../../options/input.ts';
import { clockTime, printable } from '../../output/text.ts';
import type { Terminal } from '../../terminal.ts';
import {
  type AnswerScript,
  parseAnswerScript,
  SCRIPT_FORM,
  type ScriptedAnswer,
  startWebhookReceiver,
  type Verifier,
  verifierFor,
  type Webhook,
} from './webhook-receiver.ts';

/** `posthaste listen` */
export const listen = deployed<Options>({
  options: [
    PORT,
    option('--path <PATH>', 'accept requests for this path', parsePath, '/'),
    option('--answer <SCRIPT>', 'answer requests as this script says', parseAnswerScript).default(
      parseAnswerScript('200'),
      '200',
    ),
    option(
      '--secret-file <FILE>',
      'verify signatures with the secret (whsec_…) or public key (whpk_…) in this file; - for stdin',
    ),
    option('--subscribe <QUEUE>', 'subscribe to this queue while running', parseQueue),
    option('--url <URL>', 'public URL of this receiver, for --subscribe'),
    option('--policy <POLICY>', 'retry policy, as JSON or a preset; for --subscribe', parsePolicy),
    option('--count <N>', 'stop after this number of requests', wholeNumber(1)),
    option('--for <DURATION>', 'stop after this long: seconds, or 30m, 1h', parseDuration),
  ],
  json: 'one request per line: at, method, path, headers, body, messageId, count, secondsSince, answer, verified',
  more: `
A script lists answers, separated by commas. Each has the form
  ${SCRIPT_FORM}
Each message starts at the beginning of the script, and the last answer repeats.
The output shows the time since the previous request for the same message.

Signatures are verified with the secret from --secret-file or the environment
variable POSTHASTE_WEBHOOK_SECRET, because other users of this machine could
see a secret in the arguments. --subscribe creates a subscription to this
receiver, verifies with its secret, and deletes it at the end. A deployment in
AWS cannot reach 127.0.0.1: run a tunnel, and give its public URL with --url.

Exit status: 0 after Ctrl-C, --for or --count.
`,
  examples: [
    'listen --port 8080 --secret-file webhook-secret.txt',
    `listen --subscribe orders --answer 503x3,200 --policy '{"minimum_delay": 2}'`,
  ],
  run: ({ options, terminal, refuse }) => {
    if (options.subscribe === undefined && (options.url !== undefined || options.policy !== undefined))
      refuse("options '--url' and '--policy' require option '--subscribe'");
    return terminal.untilInterrupted((signal) => receiveWebhooks(options, signal, terminal));
  },
});

function parsePath(text: string): string {
  if (!/^\/[\w\-./~%]*$/.test(text)) throw new InvalidArgumentError('Expected a path such as /hook.');
  return text;
}

type Options = DeploymentOptions &
  Partial<Record<'port' | 'count' | 'for', number>> &
  Partial<Record<'secretFile' | 'subscribe' | 'url' | 'policy', string>> & {
    path: string;
    answer: AnswerScript;
  };

/** Receives webhooks until the signal, `--for` or `--count`; then deletes the subscription that it created. */
async function receiveWebhooks(
  options: Options,
  signal: AbortSignal,
  terminal: Terminal,
): Promise<undefined> {
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

async function givenVerifier({ secretFile }: Options, terminal: Terminal): Promise<Verifier | undefined> {
  const inEnvironment = terminal.env['POSTHASTE_WEBHOOK_SECRET'];
  const secret = secretFile === undefined ? inEnvironment : await readSecret(secretFile, terminal);
  return secret === undefined ? undefined : verifierFor(secret);
}

/** Undefined without `--subscribe`. */
async function subscribeReceiver(options: Options, url: string, terminal: Terminal) {
  const { subscribe: queue, policy } = options;
  if (queue === undefined) return undefined;
  const api = await openApiToWrite(options, terminal);
  const callOptions = policy && objectText({ _retry_policy: policy });
  const body = objectText({ subscriber: jsonText(url), options: callOptions });
  const sayIfNew = await newQueueNotice(api, queue, terminal);
  const created = await api.call(subscribe, { path: { queue }, body });
  sayIfNew();
  return {
    queue,
    verifier: created.secret === undefined ? undefined : verifierFor(created.secret),
    end: async (): Promise<void> => {
      const path = { queue, subscription: created.subscription_id };
      await api.call(unsubscribe, { path, query: { now: true } });
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
  return [
    `${clockTime(at)}  ${printable(messageId ?? 'without webhook-id')}  #${count}${since}  → ${answerText(answer)}`,
    `  ${printable(method)} ${printable(path)}`,
    ...Object.entries(headers).map(([name, value]) => `  ${printable(name)}: ${printable(value)}`),
    ...(verdict === undefined
      ? []
      : [
          `  Signature: ${verdict.verified ? 'valid' : `INVALID (${printable(verdict.why)}), answered as --answer says all the same`}`,
        ]),
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

function answerText({ status, delaySeconds, retryAfterSeconds }: ScriptedAnswer): string {
  return [
    String(status),
    ...(delaySeconds === undefined ? [] : [`after ${delaySeconds} s`]),
    ...(retryAfterSeconds === undefined ? [] : [`retry-after ${retryAfterSeconds}`]),
  ].join(', ');
}
