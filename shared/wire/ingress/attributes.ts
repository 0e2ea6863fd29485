import { TRACE_FIELDS } from '../../domain/message/trace-context.ts';

/** Attribute in which a redrive keeps a message's id, because SQS assigns a new one. */
export const ID_ATTRIBUTE = 'posthaste-id';
/** Names the queue, with priority over all else in the message. */
export const QUEUE_ATTRIBUTE = 'queue';

const ATTRIBUTES: readonly string[] = [QUEUE_ATTRIBUTE, ID_ATTRIBUTE, ...TRACE_FIELDS];

/** Whether dispatch reads this SQS attribute. */
export function isIngressAttribute(name: string): boolean {
  return ATTRIBUTES.includes(name) || findCloudEventAttribute(name) !== undefined;
}

/**
 * CloudEvents defines no binding for SQS. Accepts the prefixes of its HTTP, Kafka and AMQP bindings, as far as SQS
 * attribute names allow them: SQS forbids the colon, and AMQP allows `_` instead.
 */
const CLOUD_EVENT_ATTRIBUTE = /^(?:ce[-_]|cloudEvents_)(?<attribute>[a-z0-9]+)$/;

/** The context attribute of a CloudEvent that an SQS attribute holds. */
export function findCloudEventAttribute(name: string): string | undefined {
  return CLOUD_EVENT_ATTRIBUTE.exec(name)?.groups?.['attribute'];
}
