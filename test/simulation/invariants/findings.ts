import type { SimulatedWorld } from '../simulated-world.ts';
import { attemptsAreNumbered, oncePerRecovery, recordsMatchRequests } from './attempts.ts';
import { cancelledForAReason, deletionsCancel, deletedSubscriptionsAreRemoved } from './cancellations.ts';
import { everythingEnds, pendingStepsAreDone } from './completeness.ts';
import { deliveryCases, type Finding, type Invariant, violation } from './delivery-case.ts';
import {
  duplicatesAreExplained,
  idsAreAcceptedOnce,
  oneRequestPerLease,
  lostCountsAreTrue,
} from './duplicates.ts';
import { confirmationsAreRequested } from './confirmations.ts';
import { erasedIsGone, erasedIsNotRetried, requestsAreFaithful } from './fidelity.ts';
import { healthIsTrue } from './health.ts';
import { noRequestInAPauseOrDeletion } from './pauses.ts';
import { policyIsKept } from './policy.ts';
import {
  isPulled,
  nobodyIsCalled,
  receivedOncePerLease,
  receivedWhenDue,
  lateAcknowledgementsCount,
  recordsMatchAnswers,
} from './pulls.ts';
import { answersAreHeard, pressureIsKept, refusalsAreHeard, ratesAreKept } from './pressure.ts';
import { recoveriesAreTrue } from './recoveries.ts';
import { nothingAfterItsEnd, nothingEarly, nothingLate, recordsOutliveSchedules } from './timing.ts';
import {
  oldCopiesAreIgnored,
  reconcileDoesNotMultiply,
  schedulesAreDistinct,
  sentAsRecorded,
} from './wake-ups.ts';

const OF_EACH: readonly Invariant[] = [
  pendingStepsAreDone,
  attemptsAreNumbered,
  oncePerRecovery,
  cancelledForAReason,
  deletionsCancel,
  policyIsKept,
  recordsOutliveSchedules,
  reconcileDoesNotMultiply,
  erasedIsNotRetried,
];

/** These compare records with the requests of deliver. */
const OF_CALLED: readonly Invariant[] = [
  ...OF_EACH,
  recordsMatchRequests,
  duplicatesAreExplained,
  lostCountsAreTrue,
  oneRequestPerLease,
  nothingAfterItsEnd,
  nothingEarly,
  noRequestInAPauseOrDeletion,
  nothingLate,
  oldCopiesAreIgnored,
  schedulesAreDistinct,
  sentAsRecorded,
  requestsAreFaithful,
  refusalsAreHeard,
  answersAreHeard,
];

const OF_PULLED: readonly Invariant[] = [
  ...OF_EACH,
  nobodyIsCalled,
  receivedOncePerLease,
  receivedWhenDue,
  lateAcknowledgementsCount,
  recordsMatchAnswers,
];

/** All violations of a run. */
export const findingsOf = (world: SimulatedWorld, end: 'quiet' | 'endless'): Finding[] => {
  const cases = deliveryCases(world);
  return [
    ...(end === 'quiet' ? [] : [violation('run_ends', 'run', 'the run does not end')]),
    ...everythingEnds(world, cases),
    ...healthIsTrue(world),
    ...ratesAreKept(world),
    ...pressureIsKept(world),
    ...idsAreAcceptedOnce(world),
    ...erasedIsGone(world),
    ...confirmationsAreRequested(world, cases),
    ...deletedSubscriptionsAreRemoved(world, cases),
    ...recoveriesAreTrue(world, cases),
    ...cases.flatMap((one) => (isPulled(one) ? OF_PULLED : OF_CALLED).flatMap((invariant) => invariant(one))),
  ];
};
