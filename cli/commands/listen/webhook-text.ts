import { clockTime } from '../../output/time-text.ts';
import { printable } from '../../output/printable.ts';
import type { ScriptedAnswer } from './answer-script.ts';
import type { Verdict } from './verification.ts';
import type { Webhook } from './webhook-receiver.ts';

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
export function webhookJson({ body, answer, verdict, ...webhook }: Webhook): object {
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
