import type { Mechanism } from '../../../../shared/domain/attempt.ts';
import type { OperationTable, PathCount, PathName } from './operation-table.ts';
import { difference, sum, times, type Units } from './units.ts';

/** What each step of a message's way costs beside invocations, as differences between paths that were counted. */
export type Steps = {
  /** Of dispatch: for a message, and for each subscription that it matches. */
  message: Units;
  job: Units;
  /** A delivery whose first attempt succeeds. */
  delivered: Units;
  /** What the first failure of a delivery costs once: its body kept, its listings. */
  firstFailure: Units;
  /** A failed attempt more and the retry that follows it, by what brings the retry about. */
  retry: Record<Mechanism, Units>;
  /** What running out of retries costs, over what a success would. */
  exhaustion: Units;
  /** What a payload in the bucket adds: to a message over 64 KB, to each of its attempts, to a first failure and a retry over 8 KB. */
  bucket: { message: Units; attempt: Units; firstFailure: Units; retry: Units };
};

const RETRIES_OF_THRICE = 3;

/** @throws when the table lacks a path */
export const stepsOf = (table: OperationTable): Steps => {
  const path = (name: PathName): PathCount => {
    const found = table.paths.find((one) => one.path === name);
    if (found === undefined) throw new Error(`The table of operations lacks the path ${name}.`);
    return found;
  };
  const delivery = (name: PathName): Units => perDelivery(path(name), table);
  const message = (name: PathName): Units => perMessage(path(name), table);
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
  const [one, ten] = [message('delivered'), message('delivered_ten')];
  const job = times(difference(ten, one), 1 / (path('delivered_ten').fanOut - path('delivered').fanOut));
  return {
    message: difference(one, job),
    job,
    delivered,
    firstFailure,
    retry,
    exhaustion: exhaustionOf(delivery('exhausted'), { delivered, firstFailure, retry }),
    bucket: {
      message: onlyBucket(difference(message('delivered_from_bucket'), one)),
      attempt: onlyBucket(difference(delivery('delivered_from_bucket'), delivered)),
      ...keptInBucket(delivery('retried_by_sqs_from_bucket'), once),
    },
  };
};

/** What an invocation's records read together is no record's own. */
const perDelivery = (
  { deliver, messages, fanOut, invocations }: PathCount,
  { sharedReads }: OperationTable,
): Units =>
  times(
    withoutReads(deliver, invocations.first * (sharedReads.queue + fanOut * sharedReads.subscription)),
    1 / (messages * fanOut),
  );

const perMessage = ({ dispatch, messages, invocations }: PathCount, { sharedReads }: OperationTable): Units =>
  times(withoutReads(dispatch, invocations.dispatch * sharedReads.dispatch), 1 / messages);

const withoutReads = (units: Units, shared: number): Units => ({
  ...units,
  otherReadUnits: Math.max(0, units.otherReadUnits - shared),
});

/** The counted path has the default policy's shape: its immediate retries in one invocation, all others by SQS. */
const exhaustionOf = (
  exhausted: Units,
  { delivered, firstFailure, retry }: Pick<Steps, 'delivered' | 'firstFailure' | 'retry'>,
): Units => {
  const bySqs = Math.round(exhausted.retryRecords);
  const atOnce = Math.round(exhausted.attempts) - 1 - bySqs;
  const retries = sum(times(retry.same_invocation, atOnce), times(retry.sqs_delay, bySqs));
  return difference(exhausted, sum(delivered, firstFailure, retries));
};

/** Of the rest, larger payloads cost more processor time only, which the plan leaves out. */
const onlyBucket = (units: Units): Units => ({
  ...times(units, 0),
  s3Puts: units.s3Puts,
  s3Gets: units.s3Gets,
  awsCalls: units.s3Puts + units.s3Gets,
});

/** What is kept is put once; what is fetched is fetched for the retry. */
const keptInBucket = (
  fromBucket: Units,
  fromRecord: Units,
): Pick<Steps['bucket'], 'firstFailure' | 'retry'> => {
  const added = onlyBucket(difference(fromBucket, fromRecord));
  const none = times(added, 0);
  return {
    firstFailure: { ...none, s3Puts: added.s3Puts, awsCalls: added.s3Puts },
    retry: { ...none, s3Gets: added.s3Gets, awsCalls: added.s3Gets },
  };
};
