import { type Delivery, isOpen } from '../../../shared/domain/delivery/delivery.ts';
import { MAX_INVOCATION_MS } from '../../../shared/domain/retry/attempt-duration.ts';
import type { Subscription, SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { SLOWEST_MS } from '../faulty-ports.ts';
import { type Acceptance, deliveryName } from '../history.ts';
import { copiesOf, type PlannedMessage, type Scenario, SECOND, START } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import type { Version } from '../subscription-store.ts';
import { type DeliveryCase, type Finding, type Invariant, violation } from './delivery-case.ts';
import { validBetween } from './policy.ts';
import { CLOCKS_DIFFER_MS } from '../../../shared/domain/delivery/recreated-queue.ts';

const lost = (subject: string, detail: string, invariant = 'everything_ends'): Finding =>
  violation(invariant, subject, detail, 'lost');

/** Every delivery of an accepted message ends, and a message that is not accepted has a recorded reason. */
export const everythingEnds = (world: SimulatedWorld, cases: readonly DeliveryCase[]): Finding[] => {
  const byName = new Map(cases.map((one) => [one.name, one]));
  return [
    ...world.scenario.messages.flatMap((planned) => {
      const acceptances = world.history.acceptances.filter(
        ({ record }) => record.key.messageId === planned.id,
      );
      return [
        ...(acceptances.length === 0 ? checkRefusal(world, planned.id) : []),
        ...acceptances.flatMap((acceptance) => checkMembership(world, acceptance, byName)),
        ...missingFromLastLife(world, planned, acceptances),
      ];
    }),
    ...cases.flatMap(({ name, record }) =>
      record !== undefined && isOpen(record) ? [lost(name, `still ${record.status}`)] : [],
    ),
  ];
};

const checkRefusal = ({ history, subscriptions }: SimulatedWorld, id: string): Finding[] => {
  const wasDeleted = subscriptions.queueVersions.some(({ value }) => value === undefined);
  const deadLetters = history.deadLetters.some(
    ({ name, reason }) => name === id && reason === 'unknown_queue',
  );
  return wasDeleted && deadLetters ? [] : [lost(id, 'neither accepted nor refused')];
};

/**
 * A message sent in the queue's last life is accepted in it, even if its id was used before. Shortly after the
 * recreation, a stale cache may assign it to the earlier life.
 */
const missingFromLastLife = (
  { subscriptions, scenario }: SimulatedWorld,
  planned: PlannedMessage,
  acceptances: readonly Acceptance[],
): Finding[] => {
  const { queueVersions } = subscriptions;
  const life = queueVersions.at(-1)?.value?.createdAt;
  if (life === undefined) return [];
  const restoredAt = queueVersions.findLast(
    (_, index) => queueVersions[index - 1]?.value === undefined,
  )?.from;
  const settledBy =
    Math.max(life, restoredAt ?? 0) +
    scenario.settings.cacheSeconds * SECOND +
    2 * scenario.skewMs +
    SLOWEST_MS;
  const isSent = copiesOf(planned).some(({ sentAt }) => sentAt >= settledBy);
  const isAccepted = acceptances.some(({ record }) => record.queueCreatedAt === life);
  return isSent && !isAccepted ? [lost(planned.id, 'assigned to an earlier life of its queue')] : [];
};

/**
 * A rejected or exhausted delivery is on the undeliverable queue, a 410 disables the subscription, and retries find
 * their message.
 */
export const pendingStepsAreDone: Invariant = (one) => {
  const { record } = one;
  if (record === undefined) return [];
  const findings = [...missingSteps(one, record)];
  if (record.reason === 'gone' && isEnabled(one) && !isRepaired(one, record))
    findings.push(violation('gone_disables', one, 'the subscription is not disabled'));
  if (record.reason === 'body_missing')
    findings.push(violation('the_body_is_kept', one, 'a retry found no body'));
  return findings;
};

const missingSteps = (one: DeliveryCase, { status, pendingSteps, round, attempts }: Delivery): Finding[] =>
  [
    ...(UNDELIVERABLE.has(status) && !hasNotice(one, round)
      ? [`${status} without an undeliverable message`]
      : []),
    ...(status === 'exhausted' && !hasExhaustedEvent(one, attempts.length)
      ? ['exhausted without an event']
      : []),
    ...pendingSteps.map(({ kind }) => `still pending: ${kind}`),
  ].map((detail) => lost(one.name, detail, 'pending_steps_are_done'));

/** Statuses that send the delivery to the undeliverable queue. */
const UNDELIVERABLE: ReadonlySet<string> = new Set(['rejected', 'exhausted']);

const hasExhaustedEvent = ({ world, name }: DeliveryCase, attempts: number): boolean =>
  world.history.events.some(
    (event) =>
      event.type === 'delivery.exhausted' && deliveryName(event.key) === name && event.attempts === attempts,
  );

const hasNotice = ({ world, name }: DeliveryCase, ended: number): boolean =>
  world.history.notices.some(({ delivery, round }) => delivery === name && round === ended);

/** Never disabled in the run; an operator may have enabled it again. */
const isEnabled = ({ world, subscriptionId }: DeliveryCase): boolean =>
  world.subscriptions
    .versionsOf(subscriptionId)
    .every(({ value }) => value !== undefined && value.disabled === undefined);

/** Its URL changed or it was enabled since it was read for the last attempt. */
const isRepaired = ({ world, subscriptionId }: DeliveryCase, { attempts }: Delivery): boolean => {
  const { scenario, subscriptions } = world;
  const readMs = scenario.settings.cacheSeconds * SECOND + MAX_INVOCATION_MS + 2 * scenario.skewMs;
  const readAt = (attempts.at(-1)?.startedAt ?? 0) - readMs;
  return subscriptions
    .versionsOf(subscriptionId)
    .some(({ value }) => value?.version !== undefined && value.version >= readAt);
};

type Membership = 'member' | 'stranger' | 'either';

/** A message goes to exactly the subscriptions that matched at its acceptance, regardless of repeats and pages. */
const checkMembership = (
  world: SimulatedWorld,
  acceptance: Acceptance,
  byName: ReadonlyMap<string, DeliveryCase>,
): Finding[] => {
  const { key, acceptedAt } = acceptance.record;
  const listed = world.scenario.subscriptions.map(({ id }) => ({
    name: `${key.messageId}/${id}`,
    was: membershipOf(world, acceptance, id),
  }));
  const wrong = listed.flatMap(({ name, was }): Finding[] => {
    // The same id in another life of the queue has separate deliveries.
    const isOfThis = byName.get(name)?.record?.acceptedAt === acceptedAt;
    if (was === 'member' && !isOfThis) return [lost(name, 'has no record')];
    if (was === 'stranger' && isOfThis && !isSentByHand(byName.get(name), acceptedAt))
      return [violation('only_matches_get_a_message', name, 'has a delivery')];
    return [];
  });
  const all = listed.map(({ was }) => was);
  const sent = listed.filter(({ name }) => isSentByHand(byName.get(name), acceptedAt)).length;
  return [...checkMatchedCount(world, acceptance, all, sent), ...wrong];
};

/** Whether dispatch did not make this delivery, but an operator. */
const isSentByHand = (one: DeliveryCase | undefined, acceptedAt: number): boolean =>
  one?.writes.some(
    ({ transition, after }) => transition.name === 'send' && after.acceptedAt === acceptedAt,
  ) === true;

/** The record counts the matches up to the last page, and the deliveries sent by hand. */
const checkMatchedCount = (
  { messages }: SimulatedWorld,
  { record }: Acceptance,
  all: readonly Membership[],
  sent: number,
): Finding[] => {
  const { messageId } = record.key;
  const last = messages.find(messageId);
  if (last?.acceptedAt !== record.acceptedAt || last.lastSubscriptionId !== undefined) return [];
  const least = all.filter((was) => was === 'member').length;
  const most = all.filter((was) => was !== 'stranger').length;
  const matched = last.matched - sent;
  const isRight = matched >= least && matched <= most;
  const detail = `${matched} of ${least} to ${most}, and ${sent} by hand`;
  return isRight ? [] : [violation('matched_count_is_right', messageId, detail)];
};

const membershipOf = (world: SimulatedWorld, acceptance: Acceptance, id: string): Membership => {
  const was = membershipAtFirst(world, acceptance, id);
  return isVisibleToRepeats(world, acceptance, { id, was }) ? was : 'either';
};

/**
 * Membership by every list that may have been read for the acceptance. The list may be some seconds old, clocks
 * differ, and later pages are judged up to two seconds later.
 */
const membershipAtFirst = (
  { subscriptions, scenario }: SimulatedWorld,
  { actor, at, record }: Acceptance,
  id: string,
): Membership => {
  const from = actor.startedAt - scenario.settings.cacheSeconds * SECOND - 2 * scenario.skewMs;
  const versions = subscriptions.versionsOf(id);
  const verdicts = new Set(
    validBetween(versions, from, at + toleranceMs(scenario)).map((version) =>
      isMatch(version, record.acceptedAt, actor.copy?.message ?? { data: '' }),
    ),
  );
  const begins = versions[0]?.from ?? Infinity;
  if (begins > START && begins >= from) verdicts.add(false);
  if (verdicts.size > 1) return 'either';
  return verdicts.has(true) ? 'member' : 'stranger';
};

/** How long after the acceptance a change may still count as one before it. */
const toleranceMs = (scenario: Scenario): number =>
  2 * scenario.skewMs + (isPaged(scenario) ? CLOCKS_DIFFER_MS : 0);

const isPaged = ({ subscriptions, pageSize }: Scenario): boolean => subscriptions.length > pageSize;

type Content = { type?: string; data: string };

const isMatch = (subscription: Subscription | undefined, acceptedAt: number, content: Content): boolean =>
  subscription !== undefined &&
  subscription.deletedAt === undefined &&
  subscription.unconfirmed === undefined &&
  (subscription.expiresAt ?? Infinity) > acceptedAt &&
  isOfType(subscription.options, content) &&
  passesFilter(JSON.stringify(subscription.options.filter ?? {}), content);

const isOfType = ({ event_types }: SubscriptionOptions, { type = 'none' }: Content): boolean =>
  event_types === undefined || event_types.includes(type);

/** Implements only the generated filters, independently of the code under test. */
const passesFilter = (filter: string, { data }: Content): boolean => {
  const [, keys] = /^\{"k":\[([\d,]+)\]/.exec(filter) ?? [];
  const [, key = ''] = /"k":(\d)/.exec(data) ?? [];
  if (keys !== undefined && !keys.includes(key)) return false;
  // An undecided filter matches.
  return !filter.includes('"l":') || data.includes('"l":[');
};

/**
 * Whether a repeat can still determine the original membership: not after a removal, a confirmation, two filter
 * changes or two restorations. Later pages are read like a repeat; without faults one page needs no repeat.
 */
const isVisibleToRepeats = (
  world: SimulatedWorld,
  { actor, at, record }: Acceptance,
  { id, was }: { id: string; was: Membership },
): boolean => {
  const versions = world.subscriptions.versionsOf(id);
  const later = versions.filter(({ from }) => from > at);
  const then = versions.filter(({ from }) => from <= at).slice(-1);
  const restorations = new Set(later.map(({ value }) => value?.restored?.at));
  restorations.delete(undefined);
  const isKnown = changesOf([...then, ...later]) <= 1 && restorations.size <= 1;
  const before = new Set(datesOf(then[0]?.value));
  const isDated = later
    .flatMap(({ value }) => datesOf(value))
    .every((date) => before.has(date) || date > at + toleranceMs(world.scenario));
  if (was === 'stranger') return isKnown && isDated;
  const isThere = later.every(
    ({ value }) =>
      value !== undefined &&
      value.unconfirmed === undefined &&
      (value.deletedAt === undefined || isDated) &&
      (value.expiresAt ?? Infinity) > record.acceptedAt,
  );
  const isSentAtOnce = actor.invocation.faults.length === 0 && !isPaged(world.scenario);
  return isSentAtOnce || (isKnown && isThere);
};

/** A change has the time of its request, which may be long before its write. */
const datesOf = (subscription: Subscription | undefined): number[] => {
  if (subscription === undefined) return [];
  const { createdAt, confirmedAt, deletedAt, previousSelection, restored } = subscription;
  const dates = [
    createdAt,
    confirmedAt,
    deletedAt,
    previousSelection?.until,
    restored?.deletedAt,
    restored?.at,
  ];
  return dates.filter((date) => date !== undefined);
};

/** How often its interests changed. */
const changesOf = (versions: readonly Version<Subscription | undefined>[]): number =>
  versions.filter(
    ({ value }, index) => index > 0 && interests(value) !== interests(versions[index - 1]?.value),
  ).length;

const interests = (subscription: Subscription | undefined): string =>
  JSON.stringify([subscription?.options.event_types, subscription?.options.filter]);
