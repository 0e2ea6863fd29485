import { clockTime } from '../../output/time-text.ts';
import { printable } from '../../output/printable.ts';
import type { ScriptedAnswer } from './answer-script.ts';
import type { Verdict } from './verification.ts';
import type { Webhook } from './webhook-receiver.ts';

/** Of a body for people. Characters; programs get all of it. */
const MOST_SHOWN = 4000;

/** One block for people: when, what, how it was answered, and the whole request. */
export function webhookBlock(webhook: Webhook): string {
  const { at, method, path, headers, body, messageId, count, secondsSince, answer, verdict } = webhook;
  const text = body.toString();
  const since = secondsSince === undefined ? '' : `, ${secondsSince.toFixed(1)} s after the one before`;
  const signature = verdict === undefined ? [] : [verdictText(verdict)];
  return [
    `${clockTime(at)}  ${printable(messageId ?? 'without webhook-id')}  #${count}${since}  → ${answerText(answer)}`,
    `  ${printable(method)} ${printable(path)}`,
    ...Object.entries(headers).map(([name, value]) => `  ${printable(name)}: ${printable(value)}`),
    ...signature.map((line) => `  ${line}`),
    `  ${printable(text.slice(0, MOST_SHOWN))}${text.length > MOST_SHOWN ? ` … ${body.length} bytes in all` : ''}`,
    '',
  ].join('\n');
}

/** One object for programs. What is not UTF-8 in a body is replaced. */
export function webhookJson({ body, answer, verdict, ...webhook }: Webhook): object {
  return {
    ...webhook,
    body: body.toString(),
    answer: answer.status,
    ...(verdict && { verified: verdict.verified, ...(!verdict.verified && { why: verdict.why }) }),
  };
}

function verdictText(verdict: Verdict): string {
  return verdict.verified ? 'The signature is right.' : `The signature is WRONG: ${printable(verdict.why)}`;
}

function answerText({ status, delaySeconds, retryAfterSeconds }: ScriptedAnswer): string {
  return [
    String(status),
    ...(delaySeconds === undefined ? [] : [`after ${delaySeconds} s`]),
    ...(retryAfterSeconds === undefined ? [] : [`retry-after ${retryAfterSeconds}`]),
  ].join(', ');
}
