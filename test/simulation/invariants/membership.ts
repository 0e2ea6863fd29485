import type { Subscription, SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { CLOCKS_DIFFER_MS } from '../../../shared/domain/message/life.ts';
import type { Acceptance } from '../history.ts';
import { SECOND, START, type Scenario } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import type { Version } from '../subscription-store.ts';
import { violation, type DeliveryCase, type Finding } from './delivery-case.ts';
import { validBetween } from './policy.ts';

type Membership = 'member' | 'stranger' | 'either';

/** A message goes to those who took it when it was accepted, and to nobody else, however often it comes and in how many pages. */
export const goesToItsMembers = (
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
    // The same id in another life of the queue has other deliveries.
    const isOfThis = byName.get(name)?.record?.acceptedAt === acceptedAt;
    if (was === 'member' && !isOfThis) return [hasNoRecord(name)];
    if (was === 'stranger' && isOfThis)
      return [violation('only_members_get_a_message', { name }, 'has a delivery')];
    return [];
  });
  const all = listed.map(({ was }) => was);
  return [...matchedRightly(world, acceptance, all), ...wrong];
};

/** The record counts them as they are read, to the last page. */
const matchedRightly = (
  { messages }: SimulatedWorld,
  { record }: Acceptance,
  all: readonly Membership[],
): Finding[] => {
  const { messageId } = record.key;
  const last = messages.find(messageId);
  if (last?.acceptedAt !== record.acceptedAt || last.until !== undefined) return [];
  const least = all.filter((was) => was === 'member').length;
  const most = all.filter((was) => was !== 'stranger').length;
  const isRight = last.matched >= least && last.matched <= most;
  const detail = `${last.matched} of ${least} to ${most}`;
  return isRight ? [] : [violation('matched_counts_members', { name: messageId }, detail)];
};

const hasNoRecord = (subject: string): Finding => ({
  kind: 'lost',
  invariant: 'everything_ends',
  subject,
  detail: 'has no record',
});

const membershipOf = (world: SimulatedWorld, acceptance: Acceptance, id: string): Membership => {
  const was = membershipAtFirst(world, acceptance, id);
  return isKnownToRepeats(world, acceptance, { id, was }) ? was : 'either';
};

/**
 * By all that the list may have said that was read for the acceptance. It may have been some seconds old, and the clocks differ:
 * pages behind the first are judged as of two seconds later at most.
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
      takes(version, record.acceptedAt, actor.copy?.message ?? { data: '' }),
    ),
  );
  const begins = versions[0]?.from ?? Infinity;
  if (begins > START && begins >= from) verdicts.add(false);
  if (verdicts.size > 1) return 'either';
  return verdicts.has(true) ? 'member' : 'stranger';
};

/** How long after the acceptance a change may still be taken for one before it. */
const toleranceMs = (scenario: Scenario): number =>
  2 * scenario.skewMs + (isPaged(scenario) ? CLOCKS_DIFFER_MS : 0);

const isPaged = ({ subscriptions, pageSize }: Scenario): boolean => subscriptions.length > pageSize;

type Content = { type?: string; data: string };

const takes = (subscription: Subscription | undefined, acceptedAt: number, content: Content): boolean =>
  subscription !== undefined &&
  subscription.deletedAt === undefined &&
  subscription.unconfirmed === undefined &&
  (subscription.expiresAt ?? Infinity) > acceptedAt &&
  isOfType(subscription.options, content) &&
  passesFilter(JSON.stringify(subscription.options.filter ?? {}), content);

const isOfType = ({ event_types }: SubscriptionOptions, { type = 'none' }: Content): boolean =>
  event_types === undefined || event_types.includes(type);

/** Written out for the filters that there are here, apart from the code that judges all of them. */
const passesFilter = (filter: string, { data }: Content): boolean => {
  const [, keys] = /^\{"k":\[([\d,]+)\]/.exec(filter) ?? [];
  const [, key = ''] = /"k":(\d)/.exec(data) ?? [];
  if (keys !== undefined && !keys.includes(key)) return false;
  // One that comes to no decision lets a message pass.
  return !filter.includes('"l":') || data.includes('"l":[');
};

/**
 * Whether a repeat still finds out what a subscription was when the message was accepted: not where it was removed or confirmed
 * since, or changed its interests twice. A page behind the first is read like a repeat; of one page, the members need no repeat where nothing went wrong.
 */
const isKnownToRepeats = (
  world: SimulatedWorld,
  { actor, at, record }: Acceptance,
  { id, was }: { id: string; was: Membership },
): boolean => {
  const versions = world.subscriptions.versionsOf(id);
  const later = versions.filter(({ from }) => from > at);
  const then = versions.filter(({ from }) => from <= at).slice(-1);
  const isKnown = changesOf([...then, ...later]) <= 1;
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

/** A change bears the time of its request, which may be long before it is written. */
const datesOf = (subscription: Subscription | undefined): number[] => {
  if (subscription === undefined) return [];
  const { createdAt, confirmedAt, deletedAt, formerly } = subscription;
  return [createdAt, confirmedAt, deletedAt, formerly?.until].filter((date) => date !== undefined);
};

/** How often what it asks for changed. */
const changesOf = (versions: readonly Version<Subscription | undefined>[]): number =>
  versions.filter(
    ({ value }, index) => index > 0 && interests(value) !== interests(versions[index - 1]?.value),
  ).length;

const interests = (subscription: Subscription | undefined): string =>
  JSON.stringify([subscription?.options.event_types, subscription?.options.filter]);
