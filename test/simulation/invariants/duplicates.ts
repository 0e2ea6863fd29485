import { isOpen, type Delivery } from '../../../shared/domain/delivery/delivery.ts';
import type { SeenRequest, Write } from '../history.ts';
import { DAY } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import { isTakenEarly, wentWrong } from './lost.ts';
import { recordOf, violation, type DeliveryCase, type Finding, type Invariant } from './delivery-case.ts';

/** Requests beyond those that are numbered on record: what a subscriber may see twice. */
export const duplicatesOf = (one: DeliveryCase): readonly SeenRequest[] =>
  one.requests.filter((request) => recordOf(one, request) === undefined);

/**
 * Each request that is not a numbered attempt has a fault of its own to explain it, and the record counts it: as lost, as
 * a late result that won, or both. What the records count is what the receivers saw, one to one.
 */
export const duplicatesAreExplained: Invariant = (one) => {
  const duplicates = duplicatesOf(one);
  const unexplained = duplicates.filter((request) => !isExplained(one, request));
  return [
    ...unexplained.map((request) =>
      duplicate(one, `request at ${request.at} by ${request.actor.name} met no fault`),
    ),
    ...uncounted(one, duplicates.length),
  ];
};

const duplicate = ({ name }: DeliveryCase, detail: string): Finding => ({
  kind: 'unexplained_duplicate',
  invariant: 'duplicates_are_explained',
  subject: name,
  detail,
});

/**
 * After it was made its function was killed, or one of its own calls went wrong; or its lease was taken by a fast clock; or a
 * success that came late, or a cancellation, ended the delivery under that very lease.
 */
const isExplained = (one: DeliveryCase, { at, actor, grant }: SeenRequest): boolean =>
  wentWrong(actor, at) ||
  (grant !== undefined && isTakenEarly(one, { delivery: one.name, actor, grant })) ||
  [...lateWins(one), ...cancellations(one)].some(({ before }) => before?.lease?.owner === actor.owner);

/** Somebody cancelled by hand while a request may have been under way. */
const cancellations = ({ writes }: DeliveryCase): Write[] =>
  writes.filter(({ transition, before }) => transition.name === 'cancel' && before?.lease !== undefined);

/** Successes that came after their lease was gone, and ended a delivery that somebody else was at. */
const lateWins = ({ writes }: DeliveryCase): Write[] =>
  writes.filter(
    ({ transition, before, after }) =>
      transition.name === 'record_late' && after.status === 'delivered' && before?.lease !== undefined,
  );

/** A lease ends by the record of its attempt, by being lost, or by a late success; so no request may be left over. */
const uncounted = (one: DeliveryCase, duplicates: number): Finding[] => {
  const { record, requests } = one;
  const numbered = requests.length - duplicates;
  const lost = lostOf(record);
  const left = requests.length - numbered - lost - lateWins(one).length - heldOf(record);
  return left > 0 ? [duplicate(one, `${requests.length} requests, ${numbered} numbered, ${lost} lost`)] : [];
};

const lostOf = (record: Delivery | undefined): number =>
  (record?.lost ?? 0) + sum(record?.attempts.map((attempt) => attempt.lost ?? 0) ?? []);

/** A lease that is still there is a holder that died with nobody left to count it: its delivery is told as lost. */
const heldOf = (record: Delivery | undefined): number =>
  record?.lease !== undefined && isOpen(record.status) ? 1 : 0;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** For so long an id is known beyond the retention of its deliveries (docs/ingress.md, "After the window"). */
const IDS_OUTLIVE_MS = 7 * DAY;

/** In each life of its queue an id is accepted once, and every later copy of it is a repeat. */
export const idsAreAcceptedOnce = ({ history }: SimulatedWorld): Finding[] =>
  history.acceptances.flatMap(({ at, actor, record }, index) =>
    history.acceptances
      .slice(index + 1)
      .filter(
        (later) =>
          later.record.key.messageId === record.key.messageId &&
          later.record.life === record.life &&
          later.at < at + actor.settings.retentionMs + IDS_OUTLIVE_MS,
      )
      .map((later) =>
        violation('ids_are_accepted_once', { name: record.key.messageId }, `at ${at} and ${later.at}`),
      ),
  );

/** One lease, one request, made while the lease outlives it. */
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
