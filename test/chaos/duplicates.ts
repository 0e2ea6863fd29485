import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import type { FaultLog } from './fault-log.ts';
import type { Reply } from './subscribers.ts';

/** One accepted message × one matching subscription: the record, and what the subscriber saw. */
export type Pair = { messageId: string; record: Delivery | undefined; replies: readonly Reply[] };

/** Milliseconds by which two clocks, or a timer and a clock, may differ in their rounding. */
export const ROUNDING_MS = 2;

/** Requests beyond the attempts on record. Each attempt is the request that came in its time, next to its start. */
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

/** Those whose maker was not killed before it can have recorded them, and about whose message no call of it failed. */
export const unexplainedDuplicatesOf = (pair: Pair, faults: FaultLog): readonly Reply[] =>
  duplicatesOf(pair).filter(
    (reply) =>
      !isKilled(reply, faults) && !faults.hasFailedBetween(pair.messageId, reply.at, recordedBy(reply)),
  );

/** A function has five seconds for the record (lease.ts), and the SDK may repeat the last of its calls. */
const RECORDING_MS = 8_000;

const recordedBy = ({ at, delayMs }: Reply): number => at + delayMs + RECORDING_MS;

/** The emulator ends all workers of a function soon after it has seen that one of them is dead. */
const ENDED_WITHIN_MS = 3_000;

const isKilled = (reply: Reply, faults: FaultLog): boolean => {
  const { closedAt } = reply.connection;
  return (
    closedAt !== undefined &&
    closedAt <= recordedBy(reply) &&
    faults.wasKilledBetween(closedAt - ENDED_WITHIN_MS, closedAt + ROUNDING_MS)
  );
};
