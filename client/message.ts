import { randomUUID } from 'node:crypto';
import { MAX_BYTES } from '../shared/adapters/sqs/batches.ts';
import { type OutgoingMessage, sqsMessage } from '../shared/adapters/sqs/message.ts';
import { MAX_S3_NAME_BYTES } from '../shared/domain/message/data-reference.ts';
import {
  isQueueName,
  MAX_TTL_SECONDS,
  MAX_TYPE_LENGTH,
  QUEUE_NAME_RULE,
  toMessageId,
} from '../shared/domain/message/message.ts';
import { MAX_DELAY_SECONDS } from '../shared/domain/delivery/wake-up-plan.ts';
import { CONFIRMATION_TYPE, isConfirmationId } from '../shared/domain/subscription/confirmation.ts';
import { spliceRaw } from '../shared/wire/json-slice.ts';
import { InvalidMessageError, MessageTooLargeError } from './errors.ts';

/** An object in S3 with the data as JSON. */
type DataReference = { bucket: string; key: string; versionId?: string | undefined };

type Addressed = {
  /** 1 to 64 of `A-Z a-z 0-9 _ . -`. The queue must exist, or the message becomes a dead letter. */
  queue: string;
  /** A later message with the same id makes no request. @default a random UUID */
  id?: string | undefined;
  /** Seconds from now after which no attempt starts. @default none */
  ttl?: number | undefined;
  /** Seconds before the first attempt, 0 to 900. @default 0 */
  delay?: number | undefined;
};

/**
 * `data`: any JSON value, as `JSON.stringify` writes it. `dataRef`: data in a bucket that the deployment may read
 * (its setting `payloadSources`).
 */
type Content<Data> = { data: Data; dataRef?: undefined } | { dataRef: DataReference; data?: undefined };

/**
 * A message to publish. With a map of events, `type` and `data` must fit each other. Without one, any type and data
 * will do. `type`: 1 to 256 characters.
 */
export type NewMessage<Events extends object> = string extends keyof Events
  ? Addressed & { type?: string | undefined } & Content<unknown>
  : { [Type in keyof Events & string]: Addressed & { type: Type } & Content<Events[Type]> }[keyof Events &
      string];

/** A checked message in the own form of the ingress queue. `id`: in records, in the API and in `webhook-id`. */
export type EncodedMessage = OutgoingMessage & { id: string };

/**
 * Checks a message by the rules of dispatch, and gives it an id, so that a repeat is the same message.
 * @throws InvalidMessageError, MessageTooLargeError
 */
export function encodeMessage(message: AnyMessage, index: number): EncodedMessage {
  const fault = findFault(message);
  if (fault !== undefined) throw new InvalidMessageError({ index, ...fault });
  const { queue, id = randomUUID(), type, ttl, delay, data, dataRef } = message;
  const head = { queue, id, type, ttl, delay };
  const body =
    dataRef === undefined
      ? spliceRaw(head, 'data', stringifyData(data, index))
      : JSON.stringify({ ...head, dataRef });
  const bytes = Buffer.byteLength(sqsMessage({ body }).MessageBody);
  if (bytes > MAX_BYTES) throw new MessageTooLargeError({ index, id, bytes, most: MAX_BYTES });
  // SQS fair queues: a backlog of one queue does not delay the others.
  return { id: toMessageId({ id }).id, body, group: queue };
}

const REFERENCE_RULE = 'a bucket, a key and perhaps a versionId, of 1 to 1024 bytes each';

type AnyMessage = NewMessage<Record<string, unknown>>;

type Fault = { field: string; rule: string };

/** Callers in JavaScript have no types, so each field may be anything. */
function findFault(message: AnyMessage): Fault | undefined {
  if (!isObject(message)) return { field: 'message', rule: 'an object' };
  const { queue, id, type, ttl, delay, data, dataRef } = message;
  const checks: [boolean, field: string, rule: string][] = [
    [isText(queue) && isQueueName(queue), 'queue', QUEUE_NAME_RULE],
    [isAbsentOr(id, isId), 'id', 'text that is not empty and does not begin with confirm_'],
    [isAbsentOr(type, isType), 'type', `1 to ${MAX_TYPE_LENGTH} characters, and not ${CONFIRMATION_TYPE}`],
    [
      isAbsentOr(ttl, isWithin(1, MAX_TTL_SECONDS)),
      'ttl',
      `a whole number of seconds, 1 to ${MAX_TTL_SECONDS}`,
    ],
    [
      isAbsentOr(delay, isWithin(0, MAX_DELAY_SECONDS)),
      'delay',
      `a whole number of seconds, 0 to ${MAX_DELAY_SECONDS}`,
    ],
    [isAbsentOr(dataRef, isReference), 'dataRef', REFERENCE_RULE],
    [[data, dataRef].includes(undefined), 'dataRef', 'absent where there is data'],
  ];
  return checks.flatMap(([isRight, field, rule]) => (isRight ? [] : { field, rule }))[0];
}

function isAbsentOr<Value>(given: Value | undefined, isRight: (given: Value) => boolean): boolean {
  return given === undefined || isRight(given);
}

function isObject(given: unknown): boolean {
  return typeof given === 'object' && given !== null;
}

/** Text that UTF-8 can hold. */
function isText(given: unknown): boolean {
  return typeof given === 'string' && given !== '' && given.isWellFormed();
}

function isId(given: string): boolean {
  return isText(given) && !isConfirmationId(given);
}

function isType(given: string): boolean {
  return isText(given) && Array.from(given).length <= MAX_TYPE_LENGTH && given !== CONFIRMATION_TYPE;
}

function isWithin(least: number, most: number) {
  return (given: number): boolean => Number.isInteger(given) && given >= least && given <= most;
}

function isReference(given: DataReference): boolean {
  if (!isObject(given)) return false;
  const { bucket, key, versionId } = given;
  return [bucket, key, ...(versionId === undefined ? [] : [versionId])].every(
    (name) => isText(name) && Buffer.byteLength(name) <= MAX_S3_NAME_BYTES,
  );
}

/** @throws InvalidMessageError for a value that JSON cannot hold, such as undefined, a function or a BigInt */
function stringifyData(data: unknown, index: number): string {
  const fault = { index, field: 'data', rule: 'a value that JSON.stringify accepts' };
  let text: unknown;
  try {
    text = JSON.stringify(data);
  } catch (cause) {
    throw new InvalidMessageError(fault, { cause });
  }
  if (typeof text !== 'string') throw new InvalidMessageError(fault);
  return text;
}
