import type { SimulatedWorld } from '../simulated-world.ts';
import { attemptsAreNumbered, oncePerRecovery, recordsTellTheTruth } from './attempts.ts';
import { cancelledForAReason, deletionsCancel, marksAreRemoved } from './cancellations.ts';
import { everythingEnds, nothingOwedIsForgotten } from './completeness.ts';
import { deliveryCases, type Finding, type Invariant } from './delivery-case.ts';
import { duplicatesAreExplained, idsAreAcceptedOnce, oneRequestPerLease } from './duplicates.ts';
import { confirmationsAreAsked } from './confirmations.ts';
import { erasedIsGone, erasedIsNotRetried } from './erasure.ts';
import { requestsAreFaithful } from './fidelity.ts';
import { lostIsTrue } from './lost.ts';
import { healthIsTrue } from './health.ts';
import { policyIsKept } from './policy.ts';
import { ratesAreKept } from './rate.ts';
import { recoveriesAreTrue } from './recoveries.ts';
import { nothingAfterItsEnd, nothingEarly, nothingLate, recordsOutliveSchedules } from './timing.ts';
import { oldCopiesDoNothing, reconcileDoesNotMultiply, schedulesAreTheirOwn } from './wake-ups.ts';

const INVARIANTS: readonly Invariant[] = [
  nothingOwedIsForgotten,
  attemptsAreNumbered,
  oncePerRecovery,
  recordsTellTheTruth,
  cancelledForAReason,
  deletionsCancel,
  policyIsKept,
  duplicatesAreExplained,
  lostIsTrue,
  oneRequestPerLease,
  nothingAfterItsEnd,
  nothingEarly,
  nothingLate,
  recordsOutliveSchedules,
  oldCopiesDoNothing,
  reconcileDoesNotMultiply,
  schedulesAreTheirOwn,
  requestsAreFaithful,
  erasedIsNotRetried,
];

/** Everything that is wrong with a run. */
export const findingsOf = (world: SimulatedWorld, end: 'quiet' | 'endless'): Finding[] => {
  const cases = deliveryCases(world);
  const endless: Finding[] =
    end === 'quiet'
      ? []
      : [
          {
            kind: 'violation',
            invariant: 'comes_to_rest',
            subject: 'run',
            detail: 'something still happens',
          },
        ];
  return [
    ...endless,
    ...everythingEnds(world, cases),
    ...healthIsTrue(world),
    ...ratesAreKept(world),
    ...idsAreAcceptedOnce(world),
    ...erasedIsGone(world),
    ...confirmationsAreAsked(world, cases),
    ...marksAreRemoved(world, cases),
    ...recoveriesAreTrue(world, cases),
    ...cases.flatMap((one) => INVARIANTS.flatMap((invariant) => invariant(one))),
  ];
};
