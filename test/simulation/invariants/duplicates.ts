import { type Delivery, isOpen } from '../../../shared/domain/delivery/delivery.ts';
import type { Fault } from '../faults.ts';
import { SLOWEST_MS } from '../faulty-ports.ts';
import type { Actor, Granted, SeenRequest, Write } from '../history.ts';
import { DAY } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import { type DeliveryCase, type Finding, type Invariant, recordOf, violation } from './delivery-case.ts';

/** Requests that are not recorded as numbered attempts: possible duplicates for a subscriber. */
export const duplicatesOf = (one: DeliveryCase): readonly SeenRequest[] =>
  one.requests.filter((request) => recordOf(one, request) === undefined);

/**
 * Every request without a numbered attempt is explained by a separate fault and counted in the record as lost, as a
 * late success, or both.
 */
export const duplicatesAreExplained: Invariant = (one) => {
  const duplicates = duplicatesOf(one);
  const unexplained = duplicates.filter((request) => !isExplained(one, request));
  return [
    ...unexplained.map((request) =>
      duplicate(one, `request at ${request.at} by ${request.actor.name} has no fault to explain it`),
    ),
    ...uncounted(one, duplicates.length),
  ];
};

const duplicate = (one: DeliveryCase, detail: string): Finding =>
  violation('duplicates_are_explained', one, detail, 'unexplained_duplicate');

/**
 * Explained by a crash or a failed call of its invocation, by a takeover with a fast clock, or by a late success or
 * cancellation that ended the delivery during its lease.
 */
const isExplained = (one: DeliveryCase, { at, actor, grant }: SeenRequest): boolean =>
  hasFaultSince(actor, at) ||
  (grant !== undefined && isTakenEarly(one, { delivery: one.name, actor, grant })) ||
  [...lateWins(one), ...cancellations(one)].some(({ before }) => before?.lease?.owner === actor.owner);

/** Cancellations while a request may have been in flight. */
const cancellations = ({ writes }: DeliveryCase): Write[] =>
  writes.filter(({ transition, before }) => transition.name === 'cancel' && before?.lease !== undefined);

/** Late successes that ended a delivery with another lease holder. */
const lateWins = ({ writes }: DeliveryCase): Write[] =>
  writes.filter(
    ({ transition, before, after }) =>
      transition.name === 'record_late' && after.status === 'delivered' && before?.lease !== undefined,
  );

/** Every lease ends with a recorded attempt, a lost count or a late success, so no request may remain. */
const uncounted = (one: DeliveryCase, duplicates: number): Finding[] => {
  const { record, requests } = one;
  const numbered = requests.length - duplicates;
  const lost = lostOf(record);
  const left = requests.length - numbered - lost - lateWins(one).length - openLeases(record);
  return left > 0 ? [duplicate(one, `${requests.length} requests, ${numbered} numbered, ${lost} lost`)] : [];
};

const lostOf = (record: Delivery | undefined): number =>
  (record?.lost ?? 0) + sum(record?.attempts.map((attempt) => attempt.lost ?? 0) ?? []);

/**
 * A remaining lease of an open delivery: its holder crashed, and nothing counted it. Its delivery is reported as
 * lost.
 */
const openLeases = (record: Delivery | undefined): number =>
  record?.lease !== undefined && isOpen(record) ? 1 : 0;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** How long an id is remembered beyond its deliveries' retention (docs/ingress.md#duplicates). */
const IDS_OUTLIVE_MS = 7 * DAY;

/** An id is accepted once per life of its queue; later copies are repeats. */
export const idsAreAcceptedOnce = ({ history }: SimulatedWorld): Finding[] =>
  history.acceptances.flatMap(({ at, actor, record }, index) =>
    history.acceptances
      .slice(index + 1)
      .filter(
        (later) =>
          later.record.key.messageId === record.key.messageId &&
          later.record.queueCreatedAt === record.queueCreatedAt &&
          later.at < at + actor.settings.retentionMs + IDS_OUTLIVE_MS,
      )
      .map((later) => violation('ids_are_accepted_once', record.key.messageId, `at ${at} and ${later.at}`)),
  );

/** Each request has a separate lease that outlives it. */
export const oneRequestPerLease: Invariant = (one) => {
  const seen = new Set<unknown>();
  return one.requests.flatMap((request) => {
    const { grant, actor, at } = request;
    if (grant === undefined) return [violation('a_lease_for_each_request', one, `${actor.name} had none`)];
    if (seen.has(grant)) return [violation('a_lease_for_each_request', one, `${actor.name} used one twice`)];
    seen.add(grant);
    const until = grant.leaseUntil - actor.clockOffset;
    return until >= at + actor.settings.attemptTimeoutMs
      ? []
      : [violation('the_lease_outlives_the_request', one, `${actor.name}: ${until - at} ms left`)];
  });
};

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
const hasFaultSince = (actor: Actor, since: number): boolean =>
  isKilledAfter(actor, since) || faultsOf(actor, since).length > 0;

/** A crash ends all work of an invocation. */
const isKilledAfter = ({ invocation }: Actor, since: number): boolean =>
  invocation.killedAt !== undefined && invocation.killedAt >= since;

/** Other faults concern only the calling actor. */
const faultsOf = ({ name, invocation }: Actor, since: number): Fault[] =>
  invocation.faults.filter((fault) => fault.at >= since && fault.name.startsWith(`${name}|`));

const isWrite = ({ name }: Fault): boolean => /:(deliveries|chunks)\.write$/.test(name);

/** Taken over early because another machine's clock is ahead. */
const isTakenEarly = ({ writes }: DeliveryCase, { actor, grant }: Granted): boolean =>
  writes.some(
    ({ at, transition, before }) =>
      transition.name === 'take_over' &&
      before?.lease?.owner === actor.owner &&
      at < grant.leaseUntil - actor.clockOffset,
  );
