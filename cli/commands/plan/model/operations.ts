import { MAX_BODY_IN_JOB, MAX_BODY_ON_RECORD } from '../../../../shared/domain/message-body.ts';
import type { OperationTable } from './operation-table.ts';
import { sqsRequests } from './sqs-requests.ts';
import { stepsOf, type Steps } from './steps.ts';
import { noUnits, sum, times, type Units } from './units.ts';
import { deliveryBytes, messageBytes, READ_UNIT, unitsOf, WRITE_UNIT } from './weight.ts';
import { keptMessages, type Group, type Work } from './work.ts';

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
  /** Not AWS's: processor time as measured, and calls of AWS, that invocations have to wait for. */
  cpuMs: { dispatch: number; deliver: number };
  awsCalls: { dispatch: number; deliver: number };
  /** Bytes of records that stay until they expire. */
  storedBytes: number;
};

/** What DynamoDB adds to each item that it stores, and to each entry of an index (developer guide, "Item sizes"). */
const STORED_OVERHEAD = 100;

export const operationsOf = (work: Work, table: OperationTable): Operations => {
  const steps = stepsOf(table);
  const dispatch = times(dispatchUnits(work, steps), work.messages);
  const parts = work.groups.map((group) => deliveryUnits(group, work, { steps, table }));
  const deliver = sum(...parts.map(({ units }) => units));
  const deliveryWriteUnits = parts.reduce((total, part) => total + part.deliveryWriteUnits, 0);
  const all = sum(dispatch, deliver);
  const invocations = {
    dispatch: dispatch.firstRecords / work.batches.ingress,
    deliver: deliver.firstRecords / work.batches.delivery + deliver.retryRecords / work.batches.retry,
  };
  const kept = keptMessages(work);
  return {
    writeUnits:
      deliveryWriteUnits +
      messageWriteUnits(work, { steps, table }, kept) +
      all.otherWriteUnits +
      all.indexWriteUnits,
    readUnits:
      sharedReadUnits(work, table, { dispatch, deliver }) +
      all.otherReadUnits +
      all.messageReads * unitsOf(messageBytes(work.payloadBytes, table), READ_UNIT),
    sqsRequests: sqsRequests(work, table, { dispatch, deliver }),
    invocations,
    schedules: all.schedules,
    kmsRequests: all.kmsRequests,
    s3Puts: dispatch.s3Puts + Math.min(deliver.s3Puts, work.messages),
    s3Gets: all.s3Gets,
    events: all.events,
    logBytes:
      all.logBytes +
      invocations.dispatch * table.perInvocation.dispatch.logBytes +
      invocations.deliver * table.perInvocation.deliver.logBytes,
    bytesOut: all.attempts * (work.payloadBytes + table.envelopeBytes.request),
    attempts: all.attempts,
    failedAttempts: work.groups.reduce((total, group) => total + group.deliveries * group.course.failures, 0),
    cpuMs: { dispatch: dispatch.cpuMs, deliver: deliver.cpuMs },
    awsCalls: { dispatch: dispatch.awsCalls, deliver: deliver.awsCalls },
    storedBytes: storedBytes(work, table, kept),
  };
};

/** All records of an invocation are taken for messages of one queue: it is read once, and each subscription among them. */
const sharedReadUnits = (
  { fanOut, batches }: Work,
  { sharedReads }: OperationTable,
  { dispatch, deliver }: { dispatch: Units; deliver: Units },
): number => {
  const each = sharedReads.queue + Math.min(fanOut, batches.delivery) * sharedReads.subscription;
  return (
    (dispatch.firstRecords / batches.ingress) * sharedReads.dispatch +
    (deliver.firstRecords / batches.delivery) * each
  );
};

/** Of one message. */
const dispatchUnits = ({ fanOut, payloadBytes }: Work, steps: Steps): Units => ({
  ...sum(
    steps.message,
    times(steps.job, fanOut),
    payloadBytes > MAX_BODY_IN_JOB ? steps.bucket.message : noUnits,
  ),
  // Ten jobs a request, so this is no straight line; weighed in `sqsRequests`.
  sendRequests: 0,
});

type Basis = { steps: Steps; table: OperationTable };

/** Of a group, with what its records weigh when they are written: more with every attempt. */
const deliveryUnits = (
  { deliveries, course, retries }: Group,
  { payloadBytes }: Work,
  { steps, table }: Basis,
): { units: Units; deliveryWriteUnits: number } => {
  const made = retries.slice(0, course.failures);
  const { bucket } = steps;
  const large = payloadBytes > MAX_BODY_IN_JOB;
  const kept = payloadBytes > MAX_BODY_ON_RECORD && !large;
  const first = sum(
    steps.delivered,
    course.failures > 0 ? steps.firstFailure : noUnits,
    course.failures > 0 && kept ? bucket.firstFailure : noUnits,
    large ? bucket.attempt : noUnits,
  );
  const each = made.map(({ mechanism }) =>
    sum(
      steps.retry[mechanism],
      kept && mechanism !== 'same_invocation' ? bucket.retry : noUnits,
      large && mechanism !== 'same_invocation' ? bucket.attempt : noUnits,
    ),
  );
  const end = course.exhausted ? steps.exhaustion : noUnits;
  const deliveryWriteUnits = [first, ...each].reduce(
    (total, { deliveryWrites }, index) =>
      total + deliveryWrites * unitsOf(deliveryBytes(table, index + 1), WRITE_UNIT),
    end.deliveryWrites * unitsOf(deliveryBytes(table, each.length + 1), WRITE_UNIT),
  );
  return {
    units: times(sum(first, ...each, end), deliveries),
    deliveryWriteUnits: deliveries * deliveryWriteUnits,
  };
};

/** Each message is written as it comes, and once more when it is kept. */
const messageWriteUnits = (work: Work, { steps, table }: Basis, kept: number): number =>
  work.messages * steps.message.messageWrites * unitsOf(table.messageItemBytes, WRITE_UNIT) +
  kept * steps.firstFailure.messageWrites * unitsOf(messageBytes(work.payloadBytes, table), WRITE_UNIT);

const storedBytes = (work: Work, table: OperationTable, kept: number): number =>
  // Beside the item its entry in the index by hour.
  work.messages * (table.messageItemBytes + 2 * STORED_OVERHEAD) +
  kept * (messageBytes(work.payloadBytes, table) - table.messageItemBytes) +
  work.groups.reduce(
    (total, { deliveries, course, retries }) =>
      total +
      deliveries * (deliveryBytes(table, 1 + Math.min(course.failures, retries.length)) + STORED_OVERHEAD),
    0,
  );
