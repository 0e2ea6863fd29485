import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import type { FaultLog } from './fault-log.ts';
import type { Reply } from './subscribers.ts';

/** An accepted message and a matching subscription: the delivery's record, and what the subscriber logged. */
export type Pair = { messageId: string; record: Delivery | undefined; replies: readonly Reply[] };

/** Rounding difference of two clocks, or of a timer and a clock, in milliseconds. */
export const ROUNDING_MS = 2;

/** Requests without a recorded attempt. Each attempt is matched with the first request in its time span. */
export const duplicatesOf = ({ record, replies }: Pick<Pair, 'record' | 'replies'>): readonly Reply[] => {
  const left = new Set(replies);
  for (const attempt of record?.attempts ?? []) {
    const [own] = [...left].filter(({ at }) => isDuring(attempt, at)).sort((one, other) => one.at - other.at);
    if (own !== undefined) left.delete(own);
  }
  return [...left];
};

const isDuring = ({ startedAt, durationMs }: Attempt, at: number): boolean =>
  at >= startedAt - ROUNDING_MS && at <= startedAt + durationMs + ROUNDING_MS;

/** Duplicates whose sender was not killed before it could record them, and whose message had no failed call. */
export const unexplainedDuplicatesOf = (pair: Pair, faults: FaultLog): readonly Reply[] =>
  duplicatesOf(pair).filter(
    (reply) =>
      !isKilled(reply, faults) && !faults.hasFailedBetween(pair.messageId, reply.at, recordedBy(reply)),
  );

/** A function has five seconds to write the record (lease.ts), and the SDK may repeat the last call. */
const RECORDING_MS = 8_000;

const recordedBy = ({ at, delayMs }: Reply): number => at + delayMs + RECORDING_MS;

/** The emulator stops all workers of a function soon after one of them crashed. */
const ENDED_WITHIN_MS = 3_000;

const isKilled = (reply: Reply, faults: FaultLog): boolean => {
  const { closedAt } = reply.connection;
  return (
    closedAt !== undefined &&
    closedAt <= recordedBy(reply) &&
    faults.wasKilledBetween(closedAt - ENDED_WITHIN_MS, closedAt + ROUNDING_MS)
  );
};
