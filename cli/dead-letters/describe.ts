import * as z from 'zod';
import type { DeadLetter } from '../../shared/domain/delivery/dead-letter.ts';
import { isCredential, REDACTED } from '../../shared/domain/subscription/credential-headers.ts';
import type { RedrivenQueue } from '../../shared/domain/work-queues.ts';
import { timeText } from '../../shared/wire/fields.ts';
import { parseIngress } from '../../shared/wire/ingress/message.ts';
import { REASON_ATTRIBUTE } from '../../shared/wire/jobs/dead-letter.ts';
import { parseJson, propertySource } from '../../shared/wire/json-slice.ts';
import type { DeadLetterDetail, DeadLetterView } from '../../shared/wire/views/console.ts';
import { printable } from '../output/text.ts';

const EXCERPT_LENGTH = 120;

/** Enough for its JSON escapes: `printable` makes a character at most 12 times as long. */
const EXCERPT_SOURCE = 4 * EXCERPT_LENGTH;

/** What a dead letter says about itself. Anything in it may be missing or wrong: it became a dead letter. */
const name = z.string().optional().catch(undefined);
const namesSchema = z
  .object({
    queue: name,
    messageId: name,
    id: name,
    subscriptionId: name,
    subscriptionIds: z.array(z.string()).optional().catch(undefined),
    reason: name,
  })
  .catch({});

type Names = Pick<DeadLetterView, 'subscriptionIds'> &
  Partial<Record<'queue' | 'messageId' | 'reason', string | undefined>>;

/** A dead letter for display, without its body. */
export function describeDeadLetter(which: RedrivenQueue, deadLetter: DeadLetter): DeadLetterView {
  const { id, sentAt, receives, body } = deadLetter;
  const { queue, messageId, subscriptionIds, reason } = namesIn(which, deadLetter);
  return {
    which,
    id,
    sentAt: timeText(sentAt),
    ...(receives !== undefined && { receives }),
    ...(reason !== undefined && { reason }),
    ...(queue !== undefined && { queue }),
    ...(messageId !== undefined && { messageId }),
    subscriptionIds,
    bytes: Buffer.byteLength(body),
    excerpt: buildExcerpt(which, body),
  };
}

/** Whether dispatch, which refused an ingress message for this reason, would refuse it again. */
export function isUnreadable(reason: string | undefined): reason is string {
  return reason !== undefined && /^(?:not_json|data_missing|invalid_field)/.test(reason);
}

/** A whole dead letter for display. */
export function toDeadLetterDetail(which: RedrivenQueue, deadLetter: DeadLetter): DeadLetterDetail {
  const attributes = Object.entries(deadLetter.attributes).map(([name, attribute]) => {
    const text = 'text' in attribute ? attribute.text : Buffer.from(attribute.bytes).toString('base64');
    return [name, isCredential(name, text) ? REDACTED : withoutLinks(text)] as const;
  });
  return {
    ...describeDeadLetter(which, deadLetter),
    body: withoutLinks(deadLetter.body),
    attributes: Object.fromEntries(attributes),
  };
}

function namesIn(which: RedrivenQueue, deadLetter: DeadLetter): Names {
  const names = namesSchema.parse(parseJson(deadLetter.body)?.value);
  const { queue, messageId, reason, subscriptionId } = names;
  const { subscriptionIds = subscriptionId === undefined ? [] : [subscriptionId] } = names;
  if (which === 'undeliverable') return { queue, messageId, reason, subscriptionIds };
  const attribute = deadLetter.attributes[REASON_ATTRIBUTE];
  const given = attribute !== undefined && 'text' in attribute ? attribute.text : undefined;
  return which === 'ingress'
    ? { ...ingressNames(deadLetter), reason: given, subscriptionIds: [] }
    : { queue, messageId, reason: given, subscriptionIds };
}

/** The names as dispatch reads them. The command does not know `ingressRoutes`, which may name the queue instead. */
function ingressNames({ id, sentAt, body, attributes }: DeadLetter): Pick<Names, 'queue' | 'messageId'> {
  const texts = Object.entries(attributes).flatMap(([name, attribute]) =>
    'text' in attribute ? [[name, attribute.text] as const] : [],
  );
  const received = { body, sqsMessageId: id, sentAt, attributes: Object.fromEntries(texts) };
  const parsed = parseIngress(received, {});
  if (parsed.ok) return { queue: parsed.message.queue, messageId: parsed.message.id };
  const names = namesSchema.parse(parseJson(body)?.value);
  return { queue: received.attributes['queue'] ?? names.queue, messageId: names.id };
}

function buildExcerpt(which: RedrivenQueue, body: string): string {
  const text = printable(withoutLinks(dataIn(which, body)).slice(0, EXCERPT_SOURCE).trim());
  return text.length <= EXCERPT_LENGTH ? text : `${text.slice(0, EXCERPT_LENGTH - 1)}…`;
}

/** The data of the message, where the dead letter has it; otherwise the whole body. */
function dataIn(which: RedrivenQueue, body: string): string {
  if (which !== 'delivery' && which !== 'undeliverable') return body;
  const json = parseJson(body);
  const source = json !== undefined && which === 'delivery' ? propertySource(json, 'message') : body;
  const message = source === undefined ? undefined : parseJson(source);
  return (message === undefined ? undefined : propertySource(message, 'data')) ?? body;
}

/** Links that let their holder confirm a subscription, or an SNS subscription; also where JSON is inside a string. */
const LINKS = /((?:confirmUrl|SubscribeURL|UnsubscribeURL)\\*"\s*:\s*\\*")(?:[^"\\]|\\+[^"\\])*/g;

function withoutLinks(text: string): string {
  return text.replaceAll(LINKS, `$1${REDACTED}`);
}
