import type { UnreadableReason } from '../../domain/vocabulary.ts';
import type { DataReference } from '../../domain/message/data-reference.ts';
import { versionOf } from '../../domain/message/version.ts';
import { CONFIRMATION_TYPE, isConfirmationId } from '../../domain/subscription/confirmation.ts';
import { isQueueName, messageIdOf, type Message, type MessageHead } from '../../domain/message/message.ts';
import { isCloudEventAttribute } from './cloud-event.ts';
import { readContent } from './envelopes.ts';
import type { IngressContent } from './fields.ts';
import { parseJson } from '../json-slice.ts';
import { unwrapNotification } from './sns-notification.ts';

/** One message as the ingress queue hands it over. `sentAt` is SQS's SentTimestamp, milliseconds since the epoch. */
export type ReceivedMessage = {
  body: string;
  sqsMessageId: string;
  sentAt: number;
  /** Message attributes of type String and Number, by name. */
  attributes: Record<string, string>;
};

/** `version` tells apart what is published under one id (shared/domain/message/version.ts). */
export type ParsedIngress =
  | { ok: true; message: Message; version: string; delaySeconds?: number }
  | { ok: true; message: MessageHead; dataRef: DataReference; version: string; delaySeconds?: number }
  | { ok: false; reason: UnreadableReason };

/** The attribute under which a redrive sends a message's id along: SQS gives a redriven message a new one. */
export const ID_ATTRIBUTE = 'posthaste-id';
const QUEUE_ATTRIBUTE = 'queue';

/** Whether an SQS attribute has a meaning here. */
export function isIngressAttribute(name: string): boolean {
  return name === QUEUE_ATTRIBUTE || name === ID_ATTRIBUTE || isCloudEventAttribute(name);
}

/** The setting `ingressRoutes`: a queue by source, type or topic; for a topic's ARN also a list, and no other queues then. */
export type IngressRoutes = Readonly<Record<string, string | readonly string[]>>;

/**
 * Normalises what was published (docs/ingress.md). Queue: SQS attribute, else the envelope's own, else `routes`. Whether such
 * a queue exists is for the caller to find out.
 *
 * Reasons: `not_json`, `queue_missing`, `queue_not_allowed`, `data_missing`, and `invalid_field:<field>` for a wrong type or a value out of
 * range. Names of fields are the publisher's, nested ones with dots. Unknown fields are ignored.
 */
export function parseIngress(received: ReceivedMessage, routes: IngressRoutes): ParsedIngress {
  const read = unwrapped(received);
  if (!read.ok) return read;
  const { content, topic, attributes, version } = read;
  const queue = attributes[QUEUE_ATTRIBUTE] ?? content.queue ?? routedQueue(content, routes);
  if (queue === undefined) return refused('queue_missing');
  const fault = faultOfQueue(queue, topic, routes);
  if (fault !== undefined) return refused(fault);
  return accepted({ queue, ...identityOf(content, received) }, content, { ...received, version });
}

type Unwrapped = {
  ok: true;
  content: IngressContent;
  /** ARN and name of the SNS topic that it came by; empty where it did not. */
  topic: readonly string[];
  attributes: Record<string, string>;
  version: string;
};

function unwrapped(received: ReceivedMessage): Unwrapped | Extract<ParsedIngress, { ok: false }> {
  const outer = parseJson(received.body);
  if (outer === undefined) return { ok: false, reason: 'not_json' };
  const notification = unwrapNotification(outer);
  if (!notification.ok) return notification;
  const { inner, attributes, ...wrapping } = notification.wrapping ?? {
    inner: outer,
    attributes: {},
    routedBy: [],
  };
  const all = { ...attributes, ...received.attributes };
  const read = readContent(inner, all);
  if (!read.ok) return read;
  const routedBy = [...read.content.routedBy, ...wrapping.routedBy];
  const content: IngressContent = { ...wrapping, ...read.content, routedBy };
  // SNS's own time is another for each publication, so it tells no versions apart.
  const version = versionOf({ ...content, timestamp: read.content.timestamp });
  return { ok: true, content, topic: wrapping.routedBy, attributes: all, version };
}

function refused(reason: UnreadableReason): ParsedIngress {
  return { ok: false, reason };
}

function accepted(
  named: Pick<MessageHead, 'queue' | 'id' | 'originalId'>,
  { type, timestamp, data, ttl, delay }: IngressContent,
  { sentAt, version }: Pick<ReceivedMessage, 'sentAt'> & { version: string },
): ParsedIngress {
  // Ours alone: where confirmation is required, nothing else reaches a subscriber that has not confirmed.
  if (type === CONFIRMATION_TYPE) return refused('invalid_field:type');
  if (isConfirmationId(named.id)) return refused('invalid_field:id');
  const head: MessageHead = {
    ...named,
    ...(type === undefined ? {} : { type }),
    timestamp: timestamp ?? new Date(sentAt).toISOString(),
    ...(ttl === undefined ? {} : { expiresAt: sentAt + ttl * 1000 }),
  };
  const rest = {
    version,
    ...(delay === undefined ? {} : { delaySeconds: delay }),
  };
  return typeof data === 'string'
    ? { ok: true, message: { ...head, data }, ...rest }
    : { ok: true, message: head, dataRef: data, ...rest };
}

function routedQueue({ routedBy }: IngressContent, routes: IngressRoutes): string | undefined {
  const key = routedBy.find((candidate) => Object.hasOwn(routes, candidate));
  const to = key === undefined ? undefined : routes[key];
  return typeof to === 'object' ? to[0] : to;
}

/** A topic with a list sends to these queues only, whatever its publishers write. SNS itself says which topic it was. */
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
 * The producer's own id where it gave one. Else SQS's, and for a redriven message, which SQS gives a new one, that of its
 * first life: so its second life is counted as the same message.
 */
function identityOf(
  { identity }: IngressContent,
  { attributes, sqsMessageId }: ReceivedMessage,
): { id: string; originalId?: string } {
  return messageIdOf(identity ?? { id: attributes[ID_ATTRIBUTE] ?? sqsMessageId });
}
