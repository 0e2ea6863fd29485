import { bytesWith } from './chunk-records.ts';
import type { OperationTable } from './operation-table.ts';
import { deliverInvocations, delivering } from './delivering.ts';
import { dispatching } from './dispatching.ts';
import { jobsOf, type Jobs } from './jobs.ts';
import { furtherWaits } from './joined-sends.ts';
import { deliverReads, dispatchReads } from './shared-reads.ts';
import { sqsRequests } from './sqs-requests.ts';
import { stepsOf } from './steps.ts';
import { sum } from './units.ts';
import { deliveryBytes, messageBytes, READ_UNIT, unitsOf, WRITE_UNIT } from './weight.ts';
import { waitsOf, type Waits } from './waits.ts';
import type { Work } from './work.ts';

/** What AWS counts of some work. */
export type Operations = {
  writeUnits: number;
  readUnits: number;
  sqsRequests: number;
  invocations: { dispatch: number; deliver: number };
  schedules: number;
  kmsRequests: number;
  s3Puts: number;
  s3Gets: number;
  events: number;
  logBytes: number;
  /** Sent to subscribers. */
  bytesOut: number;
  attempts: number;
  failedAttempts: number;
  /** Not AWS's: processor time as measured, calls of AWS, and what invocations wait for. */
  cpuMs: { dispatch: number; deliver: number };
  awsCalls: { dispatch: number; deliver: number };
  waits: { dispatch: Waits; deliver: Waits };
  /** Bytes of records that stay until they expire. */
  storedBytes: number;
};

/** What DynamoDB adds to each item that it stores, and to each entry of an index (developer guide, "Item sizes"). */
const STORED_OVERHEAD = 100;

export function operationsOf(work: Work, table: OperationTable): Operations {
  const { messages, fanOut, payloadBytes, batches, groups, kept } = work;
  const steps = stepsOf(table);
  const jobs = jobsOf(work);
  const dispatch = dispatching(work, jobs, steps);
  const deliver = delivering(work, jobs, { steps, table });
  const all = sum(dispatch.units, deliver.units);
  const { first, all: deliverRuns } = deliverInvocations(deliver.units, work);
  const invocations = { dispatch: messages / batches.ingress, deliver: deliverRuns };
  const requests = sqsRequests(work, jobs, { table, dispatch: dispatch.units, deliver: deliver.units });
  const distinct = Math.min(fanOut, (batches.delivery * fanOut) / (jobs.chunks + jobs.singles));
  const reads = {
    dispatch: dispatchReads(table.sharedReads, fanOut),
    deliver: deliverReads(table.sharedReads, distinct),
  };
  const further = {
    dispatch: furtherWaits({ records: batches.ingress, messages: jobs.chunks + jobs.singles }),
    deliver: furtherWaits({ records: deliver.units.joinedMessages / deliverRuns, messages: 1 }),
  };
  return {
    writeUnits:
      deliver.recordWriteUnits +
      messageWriteUnits(work, table, steps.firstFailure.messageWrites) +
      all.otherWriteUnits +
      all.indexWriteUnits,
    readUnits:
      invocations.dispatch * reads.dispatch.units +
      first * reads.deliver.units +
      all.otherReadUnits +
      all.messageReads * unitsOf(messageBytes(payloadBytes, table), READ_UNIT),
    sqsRequests: Object.values(requests).reduce((total, made) => total + made, 0),
    invocations,
    schedules: all.schedules,
    kmsRequests: all.kmsRequests,
    s3Puts: dispatch.units.s3Puts + Math.min(deliver.units.s3Puts, messages),
    s3Gets: all.s3Gets,
    events: all.events,
    logBytes:
      all.logBytes +
      invocations.dispatch * table.perInvocation.dispatch.logBytes +
      invocations.deliver * table.perInvocation.deliver.logBytes,
    bytesOut: all.attempts * (payloadBytes + table.envelopeBytes.request),
    attempts: all.attempts,
    failedAttempts: groups.reduce((total, group) => total + group.deliveries * group.course.failures, 0),
    cpuMs: { dispatch: dispatch.units.cpuMs, deliver: deliver.units.cpuMs },
    awsCalls: {
      dispatch: dispatch.units.awsCalls + invocations.dispatch * reads.dispatch.calls,
      deliver: deliver.units.awsCalls + first * reads.deliver.calls,
    },
    waits: {
      dispatch: waitsOf(
        dispatch.waits,
        batches.ingress,
        invocations.dispatch * (reads.dispatch.calls + further.dispatch),
      ),
      // Queue and subscriptions are read side by side.
      deliver: waitsOf(deliver.waits, batches.delivery, first + deliverRuns * further.deliver),
    },
    storedBytes:
      // Beside the item its entry in the index by hour.
      messages * (table.messageItemBytes + 2 * STORED_OVERHEAD) +
      kept * (messageBytes(payloadBytes, table) - table.messageItemBytes) +
      messages * jobs.chunks * STORED_OVERHEAD +
      messages * bytesOfChunks(jobs, table) +
      deliver.ownRecords.reduce(
        (total, { deliveries, attempts }) =>
          total + deliveries * (deliveryBytes(table, attempts) + STORED_OVERHEAD),
        0,
      ),
  };
}

/** Each message is written as it comes, and once more when it is kept. */
function messageWriteUnits(
  { messages, payloadBytes, kept }: Work,
  table: OperationTable,
  whenKept: number,
): number {
  return (
    messages * unitsOf(table.messageItemBytes, WRITE_UNIT) +
    kept * whenKept * unitsOf(messageBytes(payloadBytes, table), WRITE_UNIT)
  );
}

function bytesOfChunks({ chunks, members }: Jobs, { chunkItemBytes }: OperationTable): number {
  return chunks === 0 ? 0 : chunks * bytesWith(chunkItemBytes.recorded, members / chunks);
}
