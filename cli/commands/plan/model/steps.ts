import type { Mechanism } from '../../../../shared/domain/vocabulary.ts';
import type { OperationTable, PathCount, PathName } from './operation-table.ts';
import { deliverReads, dispatchReads, type SharedReads } from './shared-reads.ts';
import { atLeastNone, difference, sum, times, type Units } from './units.ts';

/** What each step of a message's way costs beside invocations, as differences between paths that were counted. */
export type Steps = {
  /** Of dispatch: for a message, for each subscription that it matches, and for each job that it makes of these. */
  message: Units;
  addressee: Units;
  job: Units;
  /** A delivery by itself whose first attempt succeeds. */
  delivered: Units;
  /** Of a chunk, what its members share but for the writes of its record; and each member that succeeds at once. */
  chunk: Units;
  member: Units;
  /** What the first failure of a delivery by itself costs once: its body kept, its listings. */
  firstFailure: Units;
  /** A member whose first attempt fails: the attempt, and what its first failure costs once. */
  failedMember: Units;
  /** A failed attempt more and the retry that follows it, by what brings the retry about. */
  retry: Record<Mechanism, Units>;
  /** What running out of retries costs, over what a success would. */
  exhaustion: Units;
  /** What a payload in the bucket adds: to a message over 64 KB, to each of its attempts, to a first failure and a retry over 8 KB. */
  bucket: { message: Units; attempt: Units; firstFailure: Units; retry: Units };
};

const RETRIES_OF_THRICE = 3;

type Counted = {
  /** Of dispatch and deliver for a message, and of deliver for a delivery; what an invocation's records read together left out. */
  dispatch: (name: PathName) => Units;
  deliver: (name: PathName) => Units;
  delivery: (name: PathName) => Units;
  path: (name: PathName) => PathCount;
};

/** @throws when the table lacks a path */
export function stepsOf(table: OperationTable): Steps {
  const counted = countedIn(table);
  const { dispatch, delivery } = counted;
  const delivered = delivery('delivered');
  const once = delivery('retried_by_sqs');
  const bySqs = times(difference(delivery('retried_by_sqs_thrice'), once), 1 / (RETRIES_OF_THRICE - 1));
  const firstFailure = difference(difference(once, delivered), bySqs);
  const after = (name: PathName): Units => difference(difference(delivery(name), delivered), firstFailure);
  const retry = {
    same_invocation: after('retried_at_once'),
    sqs_delay: bySqs,
    scheduler: after('retried_by_scheduler'),
  };
  return {
    ...dispatchSteps(counted),
    delivered,
    ...chunkSteps(counted, retry.same_invocation),
    firstFailure,
    retry,
    exhaustion: exhaustionOf(delivery('exhausted'), { delivered, firstFailure, retry }),
    bucket: {
      message: onlyBucket(difference(dispatch('delivered_from_bucket'), dispatch('delivered'))),
      attempt: onlyBucket(difference(delivery('delivered_from_bucket'), delivered)),
      ...keptInBucket(delivery('retried_by_sqs_from_bucket'), once),
    },
  };
}

function countedIn({ paths, sharedReads }: OperationTable): Counted {
  const path = (name: PathName): PathCount => {
    const found = paths.find((one) => one.path === name);
    if (found === undefined) throw new Error(`The table of operations lacks the path ${name}.`);
    return found;
  };
  const each = (units: Units, invocations: number, reads: SharedReads, of: number): Units =>
    times(
      {
        ...units,
        otherReadUnits: Math.max(0, units.otherReadUnits - invocations * reads.units),
        awsCalls: units.awsCalls - invocations * reads.calls,
      },
      1 / of,
    );
  const deliver = (name: PathName): Units => {
    const { deliver: units, fanOut, messages, invocations } = path(name);
    return each(units, invocations.first, deliverReads(sharedReads, fanOut), messages);
  };
  return {
    path,
    dispatch: (name) => {
      const { dispatch: units, fanOut, messages, invocations } = path(name);
      return each(units, invocations.dispatch, dispatchReads(sharedReads, fanOut), messages);
    },
    deliver,
    delivery: (name) => times(deliver(name), 1 / path(name).fanOut),
  };
}

/** One subscription, ten in one job, and a hundred in several: three counts for three steps. */
function dispatchSteps({ dispatch, path }: Counted): Pick<Steps, 'message' | 'addressee' | 'job'> {
  const [one, ten, hundred] = [
    dispatch('delivered'),
    dispatch('delivered_ten'),
    dispatch('delivered_hundred'),
  ];
  const [ofTen, ofHundred] = [path('delivered_ten'), path('delivered_hundred')];
  // What is small beside the noise of the machine must not come out below nothing, to be taken a thousand times.
  const addressee = atLeastNone(times(difference(ten, one), 1 / (ofTen.fanOut - 1)));
  const jobs = ofHundred.deliver.firstRecords / ofHundred.messages;
  const further = difference(difference(hundred, one), times(addressee, ofHundred.fanOut - 1));
  const job = atLeastNone(times(further, 1 / (jobs - 1)));
  return { message: difference(one, sum(addressee, job)), addressee, job };
}

/** Two members and ten of one chunk; and ten of whom one fails, and is tried again at once. */
function chunkSteps(
  { deliver, path }: Counted,
  retryAtOnce: Units,
): Pick<Steps, 'chunk' | 'member' | 'failedMember'> {
  const [two, ten] = [
    withoutChunkWrites(deliver('delivered_two')),
    withoutChunkWrites(deliver('delivered_ten')),
  ];
  const [few, many] = [path('delivered_two').fanOut, path('delivered_ten').fanOut];
  const member = atLeastNone(times(difference(ten, two), 1 / (many - few)));
  const chunk = atLeastNone(difference(two, times(member, few)));
  const others = path('retried_at_once_in_ten').fanOut - 1;
  const failing = withoutChunkWrites(deliver('retried_at_once_in_ten'));
  return {
    chunk,
    member,
    failedMember: difference(failing, sum(chunk, times(member, others), retryAtOnce)),
  };
}

/** How many there are depends on how far apart subscribers answer, so the plan says it (`recordsPerChunk`). */
function withoutChunkWrites(units: Units): Units {
  return {
    ...units,
    chunkWrites: 0,
    awsCalls: units.awsCalls - units.chunkWrites,
  };
}

/** The counted path has the default policy's shape: its immediate retries in one invocation, all others by SQS. */
function exhaustionOf(
  exhausted: Units,
  { delivered, firstFailure, retry }: Pick<Steps, 'delivered' | 'firstFailure' | 'retry'>,
): Units {
  const bySqs = Math.round(exhausted.retryRecords);
  const atOnce = Math.round(exhausted.attempts) - 1 - bySqs;
  const retries = sum(times(retry.same_invocation, atOnce), times(retry.sqs_delay, bySqs));
  return difference(exhausted, sum(delivered, firstFailure, retries));
}

/** Of the rest, larger payloads cost more processor time only, which the plan leaves out. */
function onlyBucket(units: Units): Units {
  return {
    ...times(units, 0),
    s3Puts: units.s3Puts,
    s3Gets: units.s3Gets,
    awsCalls: units.s3Puts + units.s3Gets,
  };
}

/** What is kept is put once; what is fetched is fetched for the retry. */
function keptInBucket(fromBucket: Units, fromRecord: Units): Pick<Steps['bucket'], 'firstFailure' | 'retry'> {
  const added = onlyBucket(difference(fromBucket, fromRecord));
  const none = times(added, 0);
  return {
    firstFailure: { ...none, s3Puts: added.s3Puts, awsCalls: added.s3Puts },
    retry: { ...none, s3Gets: added.s3Gets, awsCalls: added.s3Gets },
  };
}
