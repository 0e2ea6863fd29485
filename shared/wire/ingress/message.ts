import type { UnreadableReason } from '../../domain/message/vocabulary.ts';
import type { DataReference } from '../../domain/message/data-reference.ts';
import { hashVersion } from '../../domain/message/version.ts';
import { CONFIRMATION_TYPE, isConfirmationId } from '../../domain/subscription/confirmation.ts';
import { parseTraceContext } from '../../domain/message/trace-context.ts';
import { isQueueName, toMessageId, type Message, type MessageHead } from '../../domain/message/message.ts';
import { ID_ATTRIBUTE, QUEUE_ATTRIBUTE } from './attributes.ts';
import { readContent, type IngressContent, unwrapNotification } from './envelopes.ts';
import { parseJson } from '../json-slice.ts';
import { timeText, unreadable } from '../fields.ts';

/** A message received from the ingress queue. `sentAt`: SQS SentTimestamp, milliseconds since the epoch. */
export type ReceivedMessage = {
  body: string;
  sqsMessageId: string;
  sentAt: number;
  /** Message attributes of type String and Number, by name. */
  attributes: Record<string, string>;
};

/** `version` distinguishes messages published under one id (shared/domain/message/version.ts). */
export type ParsedIngress =
  | { ok: true; message: Message; version: string; delaySeconds?: number }
  | { ok: true; message: MessageHead; dataRef: DataReference; version: string; delaySeconds?: number }
  | { ok: false; reason: UnreadableReason };

/**
 * The setting `ingressRoutes`: a queue by source, type or topic. A topic's ARN may have a list: its messages may
 * only go to these queues.
 */
export type IngressRoutes = Readonly<Record<string, string | readonly string[]>>;

/**
 * Normalises a published message (docs/ingress.md). Its queue comes from the SQS attribute, else the envelope, else
 * `routes`; the caller checks that the queue exists.
 *
 * Reasons: `not_json`, `queue_missing`, `queue_not_allowed`, `data_missing`, and `invalid_field:<field>` for a
 * wrong type or an out-of-range value. Fields have the publisher's names, nested ones with dots. Unknown fields are
 * ignored.
 */
export function parseIngress(received: ReceivedMessage, routes: IngressRoutes): ParsedIngress {
  const read = unwrap(received);
  if (!read.ok) return read;
  const { content, topic, attributes, version } = read;
  const queue = attributes[QUEUE_ATTRIBUTE] ?? content.queue ?? routedQueue(content, routes);
  if (queue === undefined) return unreadable('queue_missing');
  const fault = faultOfQueue(queue, topic, routes);
  if (fault !== undefined) return unreadable(fault);
  return acceptedMessage({ queue, ...chooseIdentity(content, received) }, content, { ...received, version });
}

/** `topic`: ARN and name of its SNS topic; empty for other messages. */
function unwrap(received: ReceivedMessage) {
  const outer = parseJson(received.body);
  if (outer === undefined) return unreadable('not_json');
  const notification = unwrapNotification(outer);
  if (!notification.ok) return notification;
  const { inner, attributes, ...outerContent } = notification.value ?? {
    inner: outer,
    attributes: {},
    routedBy: [],
  };
  const all = { ...attributes, ...received.attributes };
  const read = readContent(inner, all);
  if (!read.ok) return read;
  const routedBy = [...read.value.routedBy, ...outerContent.routedBy];
  // The attributes come from the sender's last hop; those of an event, from where it began.
  const trace = parseTraceContext(all);
  const content: IngressContent = { ...outerContent, ...read.value, routedBy, ...(trace && { trace }) };
  // SNS sets a new time on each publish, so it cannot distinguish versions.
  const version = hashVersion({ ...content, timestamp: read.value.timestamp });
  return { ok: true, content, topic: outerContent.routedBy, attributes: all, version } as const;
}

function acceptedMessage(
  named: Pick<MessageHead, 'queue' | 'id' | 'originalId'>,
  content: IngressContent,
  { sentAt, version }: Pick<ReceivedMessage, 'sentAt'> & { version: string },
): ParsedIngress {
  const { type, data, delay } = content;
  // Reserved for Posthaste: a forged confirmation request would reach unconfirmed subscribers.
  if (type === CONFIRMATION_TYPE) return unreadable('invalid_field:type');
  if (isConfirmationId(named.id)) return unreadable('invalid_field:id');
  const head: MessageHead = { ...named, ...buildHead(content, sentAt) };
  const rest = { version, ...(delay !== undefined && { delaySeconds: delay }) };
  return typeof data === 'string'
    ? { ok: true, message: { ...head, data }, ...rest }
    : { ok: true, message: head, dataRef: data, ...rest };
}

function buildHead({ type, timestamp, ttl, trace }: IngressContent, sentAt: number) {
  return {
    ...(type === undefined ? {} : { type }),
    timestamp: timestamp ?? timeText(sentAt),
    ...(ttl === undefined ? {} : { expiresAt: sentAt + ttl * 1000 }),
    ...(trace === undefined ? {} : { trace }),
  };
}

function routedQueue({ routedBy }: IngressContent, routes: IngressRoutes): string | undefined {
  const key = routedBy.find((candidate) => Object.hasOwn(routes, candidate));
  const to = key === undefined ? undefined : routes[key];
  return typeof to === 'object' ? to[0] : to;
}

/**
 * A topic with a list may publish to these queues only, even if its messages name other queues. SNS sets the topic
 * ARN, so it can be trusted.
 */
function faultOfQueue(
  queue: string,
  topic: readonly string[],
  routes: IngressRoutes,
): UnreadableReason | undefined {
  if (!isQueueName(queue)) return 'invalid_field:queue';
  const lists = topic.map((key) => (Object.hasOwn(routes, key) ? routes[key] : undefined));
  const isAllowed = lists.every((list) => typeof list !== 'object' || list.includes(queue));
  return isAllowed ? undefined : 'queue_not_allowed';
}

/**
 * The producer's id if given, else the SQS message id. A redriven message, which has a new SQS id, keeps its
 * original one and is therefore counted as the same message.
 */
function chooseIdentity(
  { identity }: IngressContent,
  { attributes, sqsMessageId }: ReceivedMessage,
): { id: string; originalId?: string } {
  return toMessageId(identity ?? { id: attributes[ID_ATTRIBUTE] ?? sqsMessageId });
}
