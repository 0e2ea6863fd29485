import { MAX_BODY_IN_JOB, MAX_BODY_ON_RECORD } from '../../../shared/domain/message/body.ts';
import { FULL_BATCH, extraWaits, jobsOf, pollRequests, sharedLineBytes, sendsOf } from './jobs.ts';
import { READ_UNIT, REQUEST_UNIT, unitsOf, WRITE_UNIT, type OperationTable, type Units } from './tables.ts';
import type { Group, Work } from './work.ts';

/** Bytes that DynamoDB adds to each stored item and index entry (developer guide, "Item sizes"). */
const STORED_OVERHEAD = 100;

export type Operations = ReturnType<typeof operationsOf>;

type Steps = OperationTable['steps'];

/** A step of the table, its number of executions, and the attempts on the delivery's record afterwards. */
type Row = { step: Units; times: number; attempts: number; inChunk?: true };

/** The operations that AWS counts for some work: each measured step times the number of its executions. */
export function operationsOf(work: Work, table: OperationTable) {
  const { messages, fanOut, payloadBytes, batches, groups, kept } = work;
  const { steps, perInvocation, sharedReads, envelopeBytes } = table;
  const { chunks, members, singles } = jobsOf(work);
  const jobs = chunks + singles;
  const inBucket = payloadBytes > MAX_BODY_IN_JOB;
  const row = (step: Units, times: number): Row => ({ step, times, attempts: 0 });

  const dispatched = [
    row(steps.message, messages),
    row(steps.subscription, messages * fanOut),
    row(steps.job, messages * jobs),
    row(steps.bucketMessage, inBucket ? messages : 0),
  ];
  const delivered = [
    row(steps.chunk, messages * chunks),
    ...groups.flatMap((group) => rowsOf(group, { payloadBytes, hasChunks: chunks > 0, steps })),
  ];
  const all = [...dispatched, ...delivered];

  const firstRuns = (messages * jobs) / batches.delivery;
  const retryRecords = sum(delivered, ({ retryRecords: records = 0 }) => records);
  const runs = { dispatch: messages / batches.ingress, deliver: firstRuns + retryRecords / batches.retry };
  const bytesOfChunk = ({ shared, member }: OperationTable['envelopeBytes']['chunkJob']): number =>
    chunks === 0 ? 0 : shared + (member * members) / chunks;
  const job =
    (chunks * bytesOfChunk(envelopeBytes.chunkJob) + singles * envelopeBytes.job) / jobs +
    (inBucket ? 0 : payloadBytes);
  const ingress = envelopeBytes.ingress + payloadBytes;

  // The jobs of a batch share send requests, as do the wake-ups of an invocation.
  const jobSends = { records: batches.ingress, messages: jobs };
  const jobCalls = runs.dispatch * sendsOf(jobSends, 0);
  const wakeUps = sum(delivered, ({ joinedMessages = 0 }) => joinedMessages);
  const wakeUpSends = { records: wakeUps / runs.deliver, messages: 1 };
  const saved = wakeUps - runs.deliver * sendsOf(wakeUpSends, 0);

  const sends =
    runs.dispatch * sendsOf(jobSends, job) + sum(delivered, ({ sendRequests = 0 }) => sendRequests) - saved;

  // Each is a call, and one write unit: the item of a minute is under 1 KB.
  const statistics = {
    dispatch: runs.dispatch * work.statisticsPerInvocation,
    deliver: runs.deliver * work.statisticsPerInvocation,
  };

  const chunkWrites = messages * chunks * (1 + work.recordsPerChunk);
  const reads = {
    dispatch: sumOfReads(sharedReads.dispatch, sharedReads.furtherSubscription, fanOut - 1),
    deliver: sumOfReads(
      sharedReads.queue,
      sharedReads.subscription,
      Math.min(fanOut, (batches.delivery * fanOut) / jobs),
    ),
  };
  // The successful attempts of a chunk run in parallel, so together they take as long as one.
  const waiting = delivered.filter(({ inChunk }) => inChunk !== true);
  const failedAttempts = groups.reduce((total, { deliveries, failures }) => total + deliveries * failures, 0);
  const awsCallsOf = ({ awsCalls = 0 }: Units): number => awsCalls;
  const attemptsOf = ({ attempts = 0 }: Units): number => attempts;

  return {
    writeUnits:
      messages * unitsOf(table.messageItemBytes, WRITE_UNIT) +
      kept *
        (steps.firstFailure.messageWrites ?? 0) *
        unitsOf(messageBytes(payloadBytes, table), WRITE_UNIT) +
      messages *
        chunks *
        (unitsOf(bytesOfChunk(table.chunkItemBytes.claimed), WRITE_UNIT) +
          work.recordsPerChunk * unitsOf(bytesOfChunk(table.chunkItemBytes.recorded), WRITE_UNIT)) +
      delivered.reduce(
        (total, { times, step, attempts }) =>
          total + times * (step.deliveryWrites ?? 0) * unitsOf(deliveryBytes(table, attempts), WRITE_UNIT),
        0,
      ) +
      sum(all, ({ otherWriteUnits = 0, indexWriteUnits = 0 }) => otherWriteUnits + indexWriteUnits) +
      statistics.dispatch +
      statistics.deliver,
    readUnits:
      runs.dispatch * reads.dispatch.units +
      firstRuns * reads.deliver.units +
      sum(all, ({ otherReadUnits = 0 }) => otherReadUnits) +
      sum(all, ({ messageReads = 0 }) => messageReads) *
        unitsOf(messageBytes(payloadBytes, table), READ_UNIT),
    sqsRequests:
      sends +
      messages * unitsOf(ingress, REQUEST_UNIT) +
      pollRequests(messages, ingress, batches.ingress) +
      pollRequests(messages * jobs, job, batches.delivery) +
      sum(delivered, ({ schedules = 0 }) => schedules) +
      pollRequests(retryRecords, envelopeBytes.wakeUp, batches.retry),
    /**
     * Those of the requests that carry a message group (fair queues): jobs and wake-ups, including those of Scheduler.
     */
    sqsGroupedRequests: sends + sum(delivered, ({ schedules = 0 }) => schedules),
    invocations: runs,
    schedules: sum(all, ({ schedules = 0 }) => schedules),
    kmsRequests: sum(all, ({ kmsRequests = 0 }) => kmsRequests),
    // A body is stored once per message, even if several deliveries fail.
    s3Puts:
      sum(dispatched, ({ s3Puts = 0 }) => s3Puts) +
      Math.min(
        messages,
        sum(delivered, ({ s3Puts = 0 }) => s3Puts),
      ),
    s3Gets: sum(all, ({ s3Gets = 0 }) => s3Gets),
    events: sum(all, ({ events = 0 }) => events),
    logBytes:
      sum(all, ({ logBytes = 0 }) => logBytes) +
      sharedLineBytes(work, { chunks, members, singles }, steps) +
      runs.dispatch * perInvocation.dispatch.logBytes +
      runs.deliver * perInvocation.deliver.logBytes,
    /** Bytes sent to subscribers. */
    bytesOut: sum(all, attemptsOf) * (payloadBytes + envelopeBytes.request),
    attempts: sum(all, attemptsOf),
    failedAttempts,
    /** CPU time in addition to the fixed part of each invocation. */
    cpuMs: {
      dispatch: sum(dispatched, ({ cpuMs = 0 }) => cpuMs),
      deliver: sum(delivered, ({ cpuMs = 0 }) => cpuMs),
    },
    awsCalls: {
      dispatch:
        sum(dispatched, awsCallsOf) + jobCalls + runs.dispatch * reads.dispatch.calls + statistics.dispatch,
      deliver:
        sum(delivered, awsCallsOf) +
        chunkWrites -
        saved +
        firstRuns * reads.deliver.calls +
        statistics.deliver,
    },
    /** Calls and attempts in sequence, over all invocations. The records of a batch run in parallel. */
    waits: {
      dispatch: {
        awsCalls:
          (sum(dispatched, awsCallsOf) + messages * Math.ceil(jobs / FULL_BATCH)) / batches.ingress +
          runs.dispatch * (reads.dispatch.calls + extraWaits(jobSends)) +
          statistics.dispatch,
        attempts: 0,
        failedAttempts: 0,
      },
      deliver: {
        awsCalls:
          (sum(waiting, awsCallsOf) + chunkWrites + messages * chunks * awsCallsOf(steps.member)) /
            batches.delivery +
          // The queue and the subscriptions are read in parallel.
          firstRuns +
          runs.deliver * extraWaits(wakeUpSends) +
          statistics.deliver,
        attempts: (sum(waiting, attemptsOf) + messages * chunks) / batches.delivery,
        failedAttempts: failedAttempts / batches.delivery,
      },
    },
    /** Bytes of items that stay until they expire; a message also has an index entry. */
    storedBytes:
      messages * (table.messageItemBytes + 2 * STORED_OVERHEAD) +
      kept * (messageBytes(payloadBytes, table) - table.messageItemBytes) +
      messages * chunks * (STORED_OVERHEAD + bytesOfChunk(table.chunkItemBytes.recorded)) +
      groups.reduce((total, { deliveries, singleJobShare, failures, exhausted }) => {
        const own = chunks === 0 || failures > 0 ? deliveries : deliveries * singleJobShare;
        return total + own * (deliveryBytes(table, failures + (exhausted ? 0 : 1)) + STORED_OVERHEAD);
      }, 0),
  };
}

function sum(rows: readonly Row[], of: (step: Units) => number): number {
  return rows.reduce((total, { times, step }) => total + times * of(step), 0);
}

/** The steps of deliver for a group: first attempts, each retry, and the end of exhausted deliveries. */
function rowsOf(
  { deliveries, singleJobShare, failures, exhausted, retries }: Group,
  { payloadBytes, hasChunks, steps }: { payloadBytes: number; hasChunks: boolean; steps: Steps },
): Row[] {
  const fails = failures > 0;
  const bucket = bucketOf(payloadBytes, steps);
  const single = hasChunks ? deliveries * singleJobShare : deliveries;
  const row = (step: Units, times: number, attempts = 1): Row => ({ step, times, attempts });
  const inChunk = (step: Units): Row => ({
    ...row(step, deliveries - single),
    ...(fails ? {} : { inChunk: true }),
  });
  return [
    row(steps.delivered, single),
    row(steps.firstFailure, fails ? single : 0),
    inChunk(fails ? steps.failedMember : steps.member),
    row(bucket.attempt, single),
    inChunk(bucket.attempt),
    row(bucket.firstFailure, fails ? deliveries : 0),
    ...retries
      .slice(0, failures)
      .flatMap(({ mechanism }, index) => [
        row(steps[mechanism], deliveries, index + 2),
        row(bucket.retry, mechanism === 'same_invocation' ? 0 : deliveries),
      ]),
    row(steps.exhaustion, exhausted ? deliveries : 0, failures),
  ];
}

/** Additional steps for a body in S3: for every attempt of a large message, or for the failures of a smaller one. */
function bucketOf(payloadBytes: number, { bucketAttempt, bucketFirstFailure, bucketRetry }: Steps) {
  if (payloadBytes > MAX_BODY_IN_JOB)
    return { attempt: bucketAttempt, firstFailure: {}, retry: bucketAttempt };
  return payloadBytes > MAX_BODY_ON_RECORD
    ? { attempt: {}, firstFailure: bucketFirstFailure, retry: bucketRetry }
    : { attempt: {}, firstFailure: {}, retry: {} };
}

type SharedRead = OperationTable['sharedReads']['queue'];

function sumOfReads(reads: SharedRead, each: SharedRead, count: number): SharedRead {
  return { units: reads.units + count * each.units, calls: reads.calls + count * each.calls };
}

function messageBytes(payloadBytes: number, { messageItemBytes }: OperationTable): number {
  return messageItemBytes + (payloadBytes > MAX_BODY_ON_RECORD ? 0 : payloadBytes);
}

/** Bytes of a DELIVERY item with this many attempts; extrapolated linearly beyond the measured sizes. */
function deliveryBytes({ deliveryItemBytes }: OperationTable, attempts: number): number {
  const [first = 0, last = 0] = [deliveryItemBytes[0], deliveryItemBytes.at(-1)];
  const measured = deliveryItemBytes[Math.max(1, attempts) - 1];
  const count = deliveryItemBytes.length;
  return measured ?? last + ((attempts - count) * (last - first)) / (count - 1);
}
