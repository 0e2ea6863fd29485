import type { Fault } from '../faults.ts';
import { SLOWEST_MS } from '../faulty-ports.ts';
import type { Actor, Granted, Write } from '../history.ts';
import { recordOf, violation, type DeliveryCase, type Invariant } from './delivery-case.ts';

/**
 * What is counted as lost was held by somebody who made a request without putting it on record, or could not give it back. A
 * cancellation counts the lease that it finds: what comes of it, comes too late.
 */
export const lostIsTrue: Invariant = (one) => {
  const counted = one.writes.flatMap(({ transition, before, after }) => {
    const more = transition.name === 'cancel' ? 0 : after.lost - (before?.lost ?? 0);
    return more > 0 ? Array.from({ length: more }, () => after.attempts.length + 1) : [];
  });
  return [...new Set(counted)].flatMap((number) => {
    const lost = counted.filter((each) => each === number).length;
    const held = one.grants.filter((granted) => granted.grant.number === number && isLost(one, granted));
    return lost <= held.length
      ? []
      : [violation('lost_is_true', one, `${lost} counted before attempt ${number}, ${held.length} lost`)];
  });
};

const isLost = (one: DeliveryCase, granted: Granted): boolean => {
  const { actor, grant } = granted;
  const isUnrecorded = [...one.requests, ...one.world.history.refused].some(
    (request) => request.grant === grant && recordOf(one, request) === undefined,
  );
  // The very call that took the lease may have been slow, its answer lost, and its caller dead.
  const since = grant.at - SLOWEST_MS;
  return (
    isUnrecorded ||
    isTakenEarly(one, granted) ||
    isKilledAfter(actor, since) ||
    faultsOf(actor, since).some((fault) => fault.kind === 'slow' || isWrite(fault))
  );
};

/** Whether since then its function was killed, or one of its own calls went wrong. */
export const wentWrong = (actor: Actor, since: number): boolean =>
  isKilledAfter(actor, since) || faultsOf(actor, since).length > 0;

/** A kill ends all that an invocation is at. */
const isKilledAfter = ({ invocation }: Actor, since: number): boolean =>
  invocation.killedAt !== undefined && invocation.killedAt >= since;

/** Any other fault concerns the one who made the call. */
const faultsOf = ({ name, invocation }: Actor, since: number): Fault[] =>
  invocation.faults.filter((fault) => fault.at >= since && fault.name.startsWith(`${name}|`));

const isWrite = ({ name }: Fault): boolean => /:(deliveries|chunks)\.write$/.test(name);

/** By somebody whose clock is ahead. */
export const isTakenEarly = ({ writes }: DeliveryCase, { actor, grant }: Granted): boolean =>
  writes.some(
    ({ at, transition, before }) =>
      TAKES.has(transition.name) &&
      before?.lease?.owner === actor.owner &&
      at < grant.leaseUntil - actor.clockOffset,
  );

const TAKES: ReadonlySet<Write['transition']['name']> = new Set(['take_over']);
