import { MAX_ON_A_LINE } from '../../../shared/adapters/log/first-successes.ts';
import { bucketsFor, chunksFor } from '../../../shared/domain/delivery/fan-out.ts';
import { REQUEST_UNIT, unitsOf, type OperationTable } from './tables.ts';
import type { Work } from './work.ts';

/** Maximum messages per SQS batch. */
export const FULL_BATCH = 10;

type Jobs = { chunks: number; members: number; singles: number };

/** Average jobs for the first attempts of a message, divided as in dispatch (functions/dispatch/pages.ts). */
export function jobsOf({ messages, fanOut, firstAttemptsPerJob, groups }: Work) {
  const singles =
    groups.reduce((total, group) => total + group.deliveries * group.singleJobShare, 0) / messages;
  const members = fanOut - singles;
  const buckets = bucketsFor(fanOut);
  const inBucket = chunksFor(members, buckets, firstAttemptsPerJob);
  if (inBucket === undefined) return { chunks: 0, members: 0, singles: fanOut };
  // Members are placed by a hash, so some chunks stay empty.
  const places = buckets * inBucket;
  return { chunks: places === 1 ? 1 : places * (1 - (1 - 1 / places) ** members), members, singles };
}

/** Change in log bytes (negative: saved) because first successes of a message in one invocation share a log line. */
export function sharedLineBytes(
  { messages, groups, batches }: Work,
  { chunks, members, singles }: Jobs,
  { chunk, member, delivered }: OperationTable['steps'],
): number {
  const jobs = chunks + singles;
  const together = Math.min(jobs, batches.delivery);
  const several = together >= 2;
  const invocations = several ? jobs / together : chunks;
  const successes = several ? members + singles : members;
  const lines = invocations === 0 ? 0 : invocations * Math.ceil(successes / invocations / MAX_ON_A_LINE);
  const single = groups
    .filter(({ failures }) => failures === 0)
    .reduce(
      (total, { deliveries, singleJobShare }) =>
        total + (chunks === 0 ? deliveries : deliveries * singleJobShare),
      0,
    );
  return (
    messages * (lines - chunks) * (chunk.logBytes ?? 0) +
    (several ? single * ((member.logBytes ?? 0) - (delivered.logBytes ?? 0)) : 0)
  );
}

/** Average number of records of an invocation that send to one queue, and of messages per record. */
type Sends = { records: number; messages: number };

/**
 * SQS request units for the sends of an invocation. The first record sends by itself and the others share requests,
 * unless one record fills a request (shared/adapters/sqs/joined-sends.ts). `bytes`: size of a message.
 */
export function sendsOf({ records, messages }: Sends, bytes: number): number {
  const requests = (count: number): number => {
    const rest = count % FULL_BATCH;
    const full = Math.floor(count / FULL_BATCH) * unitsOf(FULL_BATCH * bytes, REQUEST_UNIT);
    return full + (rest === 0 ? 0 : unitsOf(rest * bytes, REQUEST_UNIT));
  };
  if (messages >= FULL_BATCH) return records * requests(messages);
  const whole = (count: number): number =>
    count <= 0 ? 0 : requests(messages) + requests((count - 1) * messages);
  const below = Math.floor(records);
  return whole(below) + (records - below) * (whole(below + 1) - whole(below));
}

/** Additional calls to wait for: joined sends wait for the first request, so they add one call in total. */
export function extraWaits({ records, messages }: Sends): number {
  return messages < FULL_BATCH ? Math.min(1, Math.max(0, records - 1)) : 0;
}

/** SQS request units of the event source: Lambda receives a batch with one request and deletes it with another. */
export function pollRequests(records: number, bytes: number, batch: number): number {
  return (records / batch) * (unitsOf(batch * bytes, REQUEST_UNIT) + 1);
}
