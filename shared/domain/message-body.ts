import type { Message } from './message.ts';
import { bodyOf } from './webhook-request.ts';

/** Where a message is: here, or under a key of the payload bucket. */
export type MessageBody = { kind: 'inline'; message: Message } | { kind: 'stored'; payloadKey: string };

/** Above this the message is put into the payload bucket by dispatch instead of travelling inside the jobs. */
export const MAX_BODY_IN_JOB = 64 * 1024;

/** Up to this a kept message lies on the MESSAGE item, else in the payload bucket. */
export const MAX_BODY_ON_RECORD = 8 * 1024;

/** Bytes of the message as a subscriber would get it. */
export const bodyBytes = (message: Message): number => Buffer.byteLength(bodyOf(message));
