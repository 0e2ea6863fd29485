import type { Fault } from '../faults.ts';
import { SLOWEST_MS } from '../faulty-ports.ts';
import type { Actor, Granted, Write } from '../history.ts';
import { recordOf, violation, type DeliveryCase, type Invariant } from './delivery-case.ts';

/**
 * Every lost count has a lease holder that made a request without recording it or could not release. A cancellation
 * counts the lease that it finds.
 */
export const lostCountsAreTrue: Invariant = (one) => {
  const counted = one.writes.flatMap(({ transition, before, after }) => {
    const more = transition.name === 'cancel' ? 0 : after.lost - (before?.lost ?? 0);
    return more > 0 ? Array.from({ length: more }, () => after.attempts.length + 1) : [];
  });
  return [...new Set(counted)].flatMap((number) => {
    const lost = counted.filter((each) => each === number).length;
    const held = one.grants.filter((granted) => granted.grant.number === number && isLost(one, granted));
    return lost <= held.length
      ? []
      : [
          violation(
            'lost_counts_are_true',
            one,
            `${lost} counted before attempt ${number}, ${held.length} lost`,
          ),
        ];
  });
};

const isLost = (one: DeliveryCase, granted: Granted): boolean => {
  const { actor, grant } = granted;
  const isUnrecorded = [...one.requests, ...one.world.history.refused].some(
    (request) => request.grant === grant && recordOf(one, request) === undefined,
  );
  // The claim's call may have been slow, its response lost, and its caller crashed.
  const since = grant.at - SLOWEST_MS;
  return (
    isUnrecorded ||
    isTakenEarly(one, granted) ||
    isKilledAfter(actor, since) ||
    faultsOf(actor, since).some((fault) => fault.kind === 'slow' || isWrite(fault))
  );
};

/** Whether the actor's function crashed or one of its calls failed since then. */
export const hasFaultSince = (actor: Actor, since: number): boolean =>
  isKilledAfter(actor, since) || faultsOf(actor, since).length > 0;

/** A crash ends all work of an invocation. */
const isKilledAfter = ({ invocation }: Actor, since: number): boolean =>
  invocation.killedAt !== undefined && invocation.killedAt >= since;

/** Other faults concern only the calling actor. */
const faultsOf = ({ name, invocation }: Actor, since: number): Fault[] =>
  invocation.faults.filter((fault) => fault.at >= since && fault.name.startsWith(`${name}|`));

const isWrite = ({ name }: Fault): boolean => /:(deliveries|chunks)\.write$/.test(name);

/** Taken over early because another machine's clock is ahead. */
export const isTakenEarly = ({ writes }: DeliveryCase, { actor, grant }: Granted): boolean =>
  writes.some(
    ({ at, transition, before }) =>
      TAKE_OVERS.has(transition.name) &&
      before?.lease?.owner === actor.owner &&
      at < grant.leaseUntil - actor.clockOffset,
  );

const TAKE_OVERS: ReadonlySet<Write['transition']['name']> = new Set(['take_over']);
