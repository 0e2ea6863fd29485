import * as z from 'zod';
import type {
  DeadLetter,
  DeadLetterAttribute,
  DeadLetterReading,
} from '../../domain/delivery/dead-letter.ts';
import { groupOf } from '../../domain/delivery/job.ts';
import { firstField } from '../fields.ts';
import { ID_ATTRIBUTE, isIngressAttribute } from '../ingress/message.ts';
import { parseJson } from '../json-slice.ts';
import { parseWork } from './delivery-job.ts';
import { parseOperation } from './operation.ts';
import { undeliverableNoticeSchema } from './undeliverable-notice.ts';

/** Why dispatch or deliver dead-lettered a message. */
export const REASON_ATTRIBUTE = 'reason';

/** Bytes of a message with its attributes (Amazon SQS message quotas). */
const MAX_BYTES = 1024 * 1024;

/**
 * A dead letter of the ingress queue goes back as it came, whatever is wrong with it: dispatch judges it again. It
 * takes the id of its first life along, since SQS gives it a new one. Skipped, `too_large`: no room is left for the id,
 * and without it subscribers would get the message a second time under another.
 */
export function readIngressDeadLetter({ id, body, attributes, group }: DeadLetter): DeadLetterReading {
  const firstLife = attributes[ID_ATTRIBUTE] ?? { type: 'String', text: id };
  const theirs = Object.fromEntries(Object.entries(attributes).filter(([name]) => name !== REASON_ATTRIBUTE));
  const all = withOurs(theirs, { [ID_ATTRIBUTE]: firstLife });
  if (Buffer.byteLength(body) + bytesOf(all) > MAX_BYTES) return { kind: 'skip', reason: 'too_large' };
  return {
    kind: 'redrive',
    message: { to: 'ingress', body, attributes: all, ...(group === undefined ? {} : { group }) },
    identity: 'text' in firstLife ? firstLife.text : id,
  };
}

/**
 * A job goes back to the delivery queue, a wake-up to the retry queue, each to its own share of the concurrency. What
 * deliver could not read is skipped, with its reason. Deliver reads no attributes.
 */
export function readDeliveryDeadLetter({ body }: DeadLetter): DeadLetterReading {
  const parsed = parseWork(body);
  if (!parsed.ok) return { kind: 'skip', reason: parsed.reason };
  const { value } = parsed;
  const { kind, key } = value;
  // The whole body would do as well, but a job may be 1 MiB of it.
  const identity = JSON.stringify([
    kind,
    key.queue,
    key.messageId,
    ...(value.kind === 'chunk'
      ? [value.key.bucket, value.key.chunk, value.subscriptionIds]
      : [value.key.subscriptionId, value.attempt]),
  ]);
  return {
    kind: 'redrive',
    message: { to: kind === 'wake_up' ? 'retry' : 'delivery', body, attributes: {}, group: groupOf(value) },
    identity,
  };
}

/**
 * An order goes back as it came, from where it had got to. What operate could not read is skipped, with its reason. Two
 * messages of one order are one identity: the second does nothing that the first does not.
 */
export function readOperationDeadLetter({ body }: DeadLetter): DeadLetterReading {
  const parsed = parseOperation(body);
  if (!parsed.ok) return { kind: 'skip', reason: parsed.reason };
  return {
    kind: 'redrive',
    message: { to: 'operation', body, attributes: {} },
    identity: JSON.stringify(parsed.value),
  };
}

/** A delivery that ended undelivered, and how many attempts it had then. */
export type EndedDelivery = {
  queue: string;
  messageId: string;
  subscriptionId: string;
  attemptCount: number;
};

/** No more of a notice than says which delivery it is about: what else an older release wrote does not matter. */
const endedSchema = undeliverableNoticeSchema
  .pick({ queue: true, messageId: true, subscriptionId: true })
  .extend({ attempts: z.array(z.unknown()) });

/** A notice of the undeliverable queue. One delivery is one identity, however many notices there are of it. */
export function readUndeliverableNotice({ body }: DeadLetter): DeadLetterReading<EndedDelivery> {
  const json = parseJson(body);
  if (json === undefined) return { kind: 'skip', reason: 'not_json' };
  const parsed = endedSchema.safeParse(json.value);
  if (!parsed.success) return { kind: 'skip', reason: `invalid_field:${firstField(parsed.error)}` };
  const { attempts, ...key } = parsed.data;
  return {
    kind: 'redrive',
    message: { ...key, attemptCount: attempts.length },
    identity: JSON.stringify([key.queue, key.messageId, key.subscriptionId]),
  };
}

function bytesOf(attributes: Readonly<Record<string, DeadLetterAttribute>>): number {
  return Object.entries(attributes).reduce(
    (sum, [name, attribute]) =>
      sum +
      Buffer.byteLength(name + attribute.type) +
      ('text' in attribute ? Buffer.byteLength(attribute.text) : attribute.bytes.byteLength),
    0,
  );
}

/** Most attributes of one message (Amazon SQS message quotas). */
const MAX_ATTRIBUTES = 10;

/** As many of the sender's attributes as there is room for beside ours; those that dispatch reads go first. */
export function withOurs<Value>(
  theirs: Readonly<Record<string, Value>>,
  ours: Readonly<Record<string, Value>>,
): Record<string, Value> {
  const kept = Object.entries(theirs)
    .filter(([name]) => !Object.hasOwn(ours, name))
    .toSorted(([one], [other]) => Number(isIngressAttribute(other)) - Number(isIngressAttribute(one)))
    .slice(0, MAX_ATTRIBUTES - Object.keys(ours).length);
  return { ...Object.fromEntries(kept), ...ours };
}
