import type { Attempt } from '../../../shared/domain/delivery/attempt.ts';
import { isOpen, type Lease } from '../../../shared/domain/delivery/delivery.ts';
import type { Write } from '../history.ts';
import { violation, type DeliveryCase, type Finding, type Invariant } from './delivery-case.ts';

export const isPulled = ({ world, subscriptionId }: DeliveryCase): boolean =>
  world.scenario.subscriptions.some(({ id, pull }) => id === subscriptionId && pull === true);

export const nobodyIsCalled: Invariant = (one) =>
  one.requests.length === 0 ? [] : [violation('nobody_is_called', one, 'a request was made')];

/** The writes that gave a delivery to its subscriber. */
const receivesOf = ({ writes }: DeliveryCase): Write[] =>
  writes.filter(({ transition, after }) => transition.name === 'claim' && after.lease !== undefined);

/** After a receive, another one needs an answer, or the end of the lease, or another round. */
export const receivedOncePerLease: Invariant = (one) =>
  receivesOf(one).flatMap((received, index, all) => {
    const next = all[index + 1];
    if (next === undefined) return [];
    const between = one.writes.slice(one.writes.indexOf(received) + 1, one.writes.indexOf(next));
    return between.some((write) => endsLease(write, received))
      ? []
      : [violation('received_once_per_lease', one, `received at ${received.at} and ${next.at}`)];
  });

const endsLease = ({ transition, before, after }: Write, received: Write): boolean =>
  transition.name === 'reopen' ||
  (before?.lease?.owner === received.after.lease?.owner && after.lease === undefined);

/** Not before the policy allows it, and not after its end, by the clock of the API. */
export const receivedWhenDue: Invariant = (one) =>
  receivesOf(one).flatMap(({ at, actor, before }) => {
    const isDue = before?.next !== undefined && before.next.dueAt <= at + actor.clockOffset;
    return isDue && isOpen(before) ? [] : [violation('received_when_due', one, `received at ${at}`)];
  });

/** Each attempt is what its consumer said, or a lease that ended; and what the API confirmed is on record. */
export const recordsMatchAnswers: Invariant = (one) => [
  ...one.writes.flatMap((write) => unfoundedAttempt(one, write)),
  ...one.world.history.pullAnswers
    .filter(
      ({ delivery, answer, result }) =>
        delivery === one.name && answer === 'acknowledged' && result === 'recorded',
    )
    .filter(({ owner }) => !one.writes.some((write) => isSuccessUnder(write, owner)))
    .map(({ at }) => violation('acknowledged_is_delivered', one, `the acknowledgement at ${at}`)),
];

/** An acknowledgement is refused only if the delivery was received again, however late it comes. */
export const lateAcknowledgementsCount: Invariant = (one) =>
  one.world.history.pullAnswers
    .filter(
      ({ delivery, answer, result }) =>
        delivery === one.name && answer === 'acknowledged' && result === 'expired',
    )
    .filter(({ owner }) => receivesOf(one).at(-1)?.after.lease?.owner === owner)
    .map(({ at }) => violation('late_acknowledgements_count', one, `the acknowledgement at ${at}`));

const leaseBefore = ({ before }: Write): Lease | undefined => before?.lease ?? before?.lapsed;

const appendedBy = ({ transition }: Write): Attempt | undefined =>
  'change' in transition
    ? (transition.change.appendAttempt ?? transition.change.appendLateResult)
    : undefined;

const isSuccessUnder = (write: Write, owner: string): boolean =>
  leaseBefore(write)?.owner === owner && appendedBy(write)?.outcome === 'delivered';

const unfoundedAttempt = (one: DeliveryCase, write: Write): Finding[] => {
  const attempt = appendedBy(write);
  const lease = leaseBefore(write);
  if (attempt === undefined) return [];
  const isFounded =
    attempt.result.kind === 'lapsed'
      ? lease !== undefined && lease.until <= write.at + write.actor.clockOffset
      : one.world.history.pullAnswers.some(
          ({ at, delivery, owner, answer }) =>
            delivery === one.name &&
            owner === lease?.owner &&
            at <= write.at &&
            (answer === 'acknowledged') === (attempt.outcome === 'delivered'),
        );
  return isFounded ? [] : [violation('records_match_answers', one, `${attempt.number} at ${write.at}`)];
};
