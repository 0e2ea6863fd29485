import { MAX_BODY_IN_JOB, MAX_BODY_ON_RECORD } from '../../../../shared/domain/message/body.ts';
import { chunkWriteUnits } from './chunk-records.ts';
import type { Jobs } from './jobs.ts';
import { ofInvocation, requestsFor } from './joined-sends.ts';
import type { OperationTable } from './operation-table.ts';
import type { Steps } from './steps.ts';
import { linesOfMessage } from './success-lines.ts';
import { noUnits, sum, times, type Units } from './units.ts';
import { deliveryBytes, unitsOf, WRITE_UNIT } from './weight.ts';
import type { Waits } from './waits.ts';
import type { Group, Work } from './work.ts';

type Basis = { steps: Steps; table: OperationTable };

/** What deliver does for all deliveries. */
export type Delivering = {
  units: Units;
  /** Of DELIVERY and CHUNK items, which weigh more the more is on them. */
  recordWriteUnits: number;
  waits: Waits;
  /** Deliveries with records of their own, by the attempts on these. */
  ownRecords: readonly { deliveries: number; attempts: number }[];
};

export function delivering(work: Work, jobs: Jobs, basis: Basis): Delivering {
  const all = ofAll(work, jobs, basis);
  return { ...all, units: wakeUpsJoined(all.units, work) };
}

/** As if each wake-up were sent by itself. */
function ofAll(work: Work, jobs: Jobs, basis: Basis): Delivering {
  return together([
    ofChunks(work, jobs, basis),
    successLines(work, jobs, basis.steps),
    ...work.groups.flatMap((group) => {
      const single = jobs.chunks === 0 ? group.deliveries : group.deliveries * group.apart;
      const parts = [
        { deliveries: single, inChunk: false },
        { deliveries: group.deliveries - single, inChunk: true },
      ];
      return parts
        .filter(({ deliveries }) => deliveries > 0)
        .map((part) => ofDeliveries(part, group, work.payloadBytes, basis));
    }),
  ]);
}

/** Wake-ups are small: ten of them are a request of 64 KB at most. */
function wakeUpsJoined(units: Units, work: Work): Units {
  const invocations = deliverInvocations(units, work);
  const sends = { records: units.joinedMessages / invocations.all, messages: 1 };
  const saved = units.joinedMessages - invocations.all * ofInvocation(sends, requestsFor);
  return { ...units, sendRequests: units.sendRequests - saved, awsCalls: units.awsCalls - saved };
}

/** How often Lambda runs deliver: for first attempts, and in all. */
export function deliverInvocations(
  { firstRecords, retryRecords }: Pick<Units, 'firstRecords' | 'retryRecords'>,
  { batches }: Pick<Work, 'batches'>,
): { first: number; all: number } {
  const first = firstRecords / batches.delivery;
  return { first, all: first + retryRecords / batches.retry };
}

function together(parts: readonly Partial<Delivering>[]): Delivering {
  const total = (value: (waits: Waits) => number): number =>
    parts.reduce((all, { waits }) => all + (waits === undefined ? 0 : value(waits)), 0);
  return {
    units: sum(...parts.map(({ units = noUnits }) => units)),
    recordWriteUnits: parts.reduce((all, { recordWriteUnits = 0 }) => all + recordWriteUnits, 0),
    waits: {
      awsCalls: total(({ awsCalls }) => awsCalls),
      attempts: total(({ attempts }) => attempts),
      failedAttempts: total(({ failedAttempts }) => failedAttempts),
    },
    ownRecords: parts.flatMap(({ ownRecords = [] }) => ownRecords),
  };
}

/** What the members of chunks share: the claim, the records of successes, and that they wait side by side. */
function ofChunks(
  { messages, recordsPerChunk }: Work,
  jobs: Jobs,
  { steps, table }: Basis,
): Partial<Delivering> {
  const chunks = messages * jobs.chunks;
  const writes = 1 + recordsPerChunk;
  const chunk = {
    ...steps.chunk,
    chunkWrites: writes,
    awsCalls: steps.chunk.awsCalls + writes,
    // In `successLines`.
    logBytes: 0,
  };
  return {
    units: times(chunk, chunks),
    recordWriteUnits: chunks * chunkWriteUnits(jobs, recordsPerChunk, table),
    waits: {
      awsCalls: chunks * (chunk.awsCalls + steps.member.awsCalls),
      attempts: chunks,
      failedAttempts: 0,
    },
  };
}

/** What lines of the log weigh beyond what each first success puts on them. */
function successLines(
  { messages, groups, batches }: Work,
  jobs: Jobs,
  { chunk, member, delivered }: Steps,
): Partial<Delivering> {
  const { shared, alone } = linesOfMessage(jobs, batches.delivery);
  const singles = groups
    .filter(({ course }) => course.failures === 0)
    .reduce(
      (total, { deliveries, apart }) => total + (jobs.chunks === 0 ? deliveries : deliveries * apart),
      0,
    );
  // Those by themselves were counted with a line each.
  const onShared = alone > 0 ? 0 : singles;
  const logBytes = messages * shared * chunk.logBytes + onShared * (member.logBytes - delivered.logBytes);
  return { units: { ...noUnits, logBytes } };
}

/** Deliveries of a group, with what their records weigh when they are written: more with every attempt. */
function ofDeliveries(
  { deliveries, inChunk }: { deliveries: number; inChunk: boolean },
  group: Group,
  payloadBytes: number,
  { steps, table }: Basis,
): Partial<Delivering> {
  const { first, retries, end } = partsOf(group, { inChunk, payloadBytes }, steps);
  const weighed = (units: Units, attempts: number): number =>
    units.deliveryWrites * unitsOf(deliveryBytes(table, attempts), WRITE_UNIT);
  const writeUnits = [first, ...retries].reduce(
    (total, units, index) => total + weighed(units, index + 1),
    weighed(end, retries.length + 1),
  );
  const units = sum(first, ...retries, end);
  const own = { units: times(units, deliveries), recordWriteUnits: deliveries * writeUnits };
  // Whoever succeeds at once in a chunk waits with the others of it, and is on record with them.
  if (inChunk && group.course.failures === 0) return own;
  return {
    ...own,
    waits: {
      awsCalls: deliveries * units.awsCalls,
      attempts: deliveries * units.attempts,
      failedAttempts: deliveries * group.course.failures,
    },
    ownRecords: [{ deliveries, attempts: 1 + retries.length }],
  };
}

type Circumstances = { inChunk: boolean; payloadBytes: number };

/** Of one delivery: its first attempt, each retry, and what comes when there is none left. */
function partsOf(
  { course, retries }: Group,
  { inChunk, payloadBytes }: Circumstances,
  steps: Steps,
): { first: Units; retries: readonly Units[]; end: Units } {
  const bucket = bucketOf(payloadBytes, steps);
  const fails = course.failures > 0;
  return {
    first: sum(...firstOf(steps, inChunk, fails), bucket.attempt, fails ? bucket.firstFailure : noUnits),
    retries: retries
      .slice(0, course.failures)
      .map(({ mechanism }) =>
        mechanism === 'same_invocation'
          ? steps.retry.same_invocation
          : sum(steps.retry[mechanism], bucket.attempt, bucket.retry),
      ),
    end: course.exhausted ? steps.exhaustion : noUnits,
  };
}

function firstOf(steps: Steps, inChunk: boolean, fails: boolean): Units[] {
  if (inChunk) return [fails ? steps.failedMember : steps.member];
  return fails ? [steps.delivered, steps.firstFailure] : [steps.delivered];
}

/** What the bucket adds to a delivery of so large a message: to each attempt, or to those that fail. */
function bucketOf(
  payloadBytes: number,
  { bucket }: Steps,
): Pick<Steps['bucket'], 'attempt' | 'firstFailure' | 'retry'> {
  const none = { attempt: noUnits, firstFailure: noUnits, retry: noUnits };
  if (payloadBytes > MAX_BODY_IN_JOB) return { ...none, attempt: bucket.attempt };
  return payloadBytes > MAX_BODY_ON_RECORD ? { ...bucket, attempt: noUnits } : none;
}
