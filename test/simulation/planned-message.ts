import type { Message } from '../../shared/domain/message/message.ts';
import { versionOf } from '../../shared/domain/message/version.ts';
import { QUEUE, SECOND, START, type PlannedMessage, type PlannedVersion } from './scenario.ts';

/** One SQS message of a producer, as dispatch reads it. `sentAt`: milliseconds since the epoch. */
export type Published = {
  message: Message;
  version: string;
  delaySeconds: number | undefined;
  sentAt: number;
};

/** All copies of a message, in planned order. */
export const copiesOf = ({ id, at, repeats, ...version }: PlannedMessage): Published[] =>
  [{ at }, ...repeats].map(({ at: publishedAt, ...changes }) =>
    published(id, { ...version, ...changes }, START + publishedAt),
  );

const published = (
  id: string,
  { data, type, ttlSeconds: ttl, delaySeconds: delay, isTimed }: PlannedVersion,
  sentAt: number,
): Published => {
  const timestamp = new Date(sentAt).toISOString();
  return {
    message: {
      queue: QUEUE,
      id,
      ...(type === undefined ? {} : { type }),
      timestamp,
      data,
      ...(ttl === undefined ? {} : { expiresAt: sentAt + ttl * SECOND }),
    },
    version: versionOf({ type, timestamp: isTimed ? timestamp : undefined, ttl, delay, data }),
    delaySeconds: delay,
    sentAt,
  };
};
