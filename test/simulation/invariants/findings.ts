import type { SimulatedWorld } from '../simulated-world.ts';
import { attemptsAreNumbered, oncePerRecovery, recordsMatchRequests } from './attempts.ts';
import { cancelledForAReason, deletionsCancel, deletedSubscriptionsAreRemoved } from './cancellations.ts';
import { everythingEnds, pendingStepsAreDone } from './completeness.ts';
import { deliveryCases, type Finding, type Invariant } from './delivery-case.ts';
import {
  duplicatesAreExplained,
  idsAreAcceptedOnce,
  oneRequestPerLease,
  lostCountsAreTrue,
} from './duplicates.ts';
import { confirmationsAreRequested } from './confirmations.ts';
import { erasedIsGone, erasedIsNotRetried, requestsAreFaithful } from './fidelity.ts';
import { healthIsTrue } from './health.ts';
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
import { oldCopiesAreIgnored, reconcileDoesNotMultiply, schedulesAreDistinct } from './wake-ups.ts';

const INVARIANTS: readonly Invariant[] = [
  pendingStepsAreDone,
  attemptsAreNumbered,
  oncePerRecovery,
  recordsMatchRequests,
  cancelledForAReason,
  deletionsCancel,
  policyIsKept,
  duplicatesAreExplained,
  lostCountsAreTrue,
  oneRequestPerLease,
  nothingAfterItsEnd,
  nothingEarly,
  nothingLate,
  recordsOutliveSchedules,
  oldCopiesAreIgnored,
  reconcileDoesNotMultiply,
  schedulesAreDistinct,
  requestsAreFaithful,
  erasedIsNotRetried,
  refusalsAreHeard,
  answersAreHeard,
];

/** Of deliveries that are not called. The others compare records with the requests of deliver. */
const PULL_INVARIANTS: readonly Invariant[] = [
  pendingStepsAreDone,
  attemptsAreNumbered,
  oncePerRecovery,
  cancelledForAReason,
  deletionsCancel,
  policyIsKept,
  recordsOutliveSchedules,
  reconcileDoesNotMultiply,
  erasedIsNotRetried,
  nobodyIsCalled,
  receivedOncePerLease,
  receivedWhenDue,
  lateAcknowledgementsCount,
  recordsMatchAnswers,
];

/** All violations of a run. */
export const findingsOf = (world: SimulatedWorld, end: 'quiet' | 'endless'): Finding[] => {
  const cases = deliveryCases(world);
  const endless: Finding[] =
    end === 'quiet'
      ? []
      : [
          {
            kind: 'violation',
            invariant: 'run_ends',
            subject: 'run',
            detail: 'the run does not end',
          },
        ];
  return [
    ...endless,
    ...everythingEnds(world, cases),
    ...healthIsTrue(world),
    ...ratesAreKept(world),
    ...pressureIsKept(world),
    ...idsAreAcceptedOnce(world),
    ...erasedIsGone(world),
    ...confirmationsAreRequested(world, cases),
    ...deletedSubscriptionsAreRemoved(world, cases),
    ...recoveriesAreTrue(world, cases),
    ...cases.flatMap((one) =>
      (isPulled(one) ? PULL_INVARIANTS : INVARIANTS).flatMap((invariant) => invariant(one)),
    ),
  ];
};
