import type { Message } from '../../shared/domain/message/message.ts';
import { QUEUE, SECOND, START, type PlannedMessage } from './scenario.ts';

/** The version of a message that was published at a time: the same but for its timestamp, and what follows from it. */
export const messageOf = ({ id, data, ttlSeconds }: PlannedMessage, at: number): Message => ({
  queue: QUEUE,
  id,
  timestamp: new Date(START + at).toISOString(),
  data,
  ...(ttlSeconds === undefined ? {} : { expiresAt: START + at + ttlSeconds * SECOND }),
});
