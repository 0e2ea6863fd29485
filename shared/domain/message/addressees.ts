import { isObject } from '../subscription/content-elements.ts';
import { parseContentFilter } from '../subscription/content-filter-schema.ts';
import {
  type ContentFilter,
  type FilterBudget,
  evaluateFilter,
  type FilterResult,
} from '../subscription/content-filter.ts';
import type {
  Selection,
  ListedSubscription,
  Subscription,
  SubscriptionOptions,
} from '../subscription/subscription.ts';
import type { Message } from './message.ts';

/** A filter on record that this version cannot read: a later one wrote it. Nothing may be left out for that. */
export class UnreadableFilterError extends Error {
  override readonly name = 'UnreadableFilterError';
  readonly subscriptionId: string;

  constructor(subscriptionId: string) {
    super(`The filter of the subscription ${subscriptionId} cannot be read.`);
    this.subscriptionId = subscriptionId;
  }
}

/** What subscriptions choose by. */
export type MatchContent = { type?: string; data: () => unknown };

/** Data of up to 1 MiB is parsed if somebody asks for it, and then once. */
export function matchContentOf({ type, data }: Pick<Message, 'type' | 'data'>): MatchContent {
  let parsed: { value: unknown } | undefined;
  return {
    ...(type === undefined ? {} : { type }),
    data: () => {
      parsed ??= { value: JSON.parse(data) };
      return parsed.value;
    },
  };
}

/** When a message was accepted, and as of when the subscriptions were listed for it. */
export type AcceptanceTimes = { acceptedAt: number; listedAt: number };

/**
 * `filtered` were there, and their options said no. `undecided` are those among `matching` whose filter would have taken more
 * steps than it has.
 */
export type MatchResult = {
  matching: readonly ListedSubscription[];
  filtered: number;
  undecided: readonly ListedSubscription[];
};

/**
 * Which subscriptions a message goes to. Judged as of its first acceptance, however often it comes: who was a subscriber
 * then, and what it asked for then, as far as the records still say so. A disabled one matches (docs/design.md#5-the-state-machine), and so does one
 * whose filter came to no decision: it gets what it may not want, which beats losing what it does want. With the same
 * subscriptions in the same order it is the same ones every time.
 * @throws UnreadableFilterError
 */
export function matchSubscriptions(
  subscriptions: readonly ListedSubscription[],
  content: MatchContent,
  acceptance: AcceptanceTimes,
): MatchResult {
  const there = subscriptions.filter((subscription) => wasActiveAt(subscription, acceptance));
  const effort = filterEffort();
  const undecided: ListedSubscription[] = [];
  const matching = there.filter((subscription) => {
    const { event_types, filter } = interestsAt(subscription, acceptance.listedAt);
    if (!isOfType(event_types, content.type)) return false;
    if (filter === undefined) return true;
    const read = readFilter(filter, subscription.id);
    const { matches, isUndecided } = effort.spend((allowed) => evaluateFilter(read, content.data(), allowed));
    if (isUndecided) undecided.push(subscription);
    return matches;
  });
  return { matching, filtered: there.length - matching.length, undecided };
}

/**
 * As of when a list was read. Clocks differ between functions: whatever is seen on the list had happened by then,
 * whatever the clock said that wrote it down.
 */
export function listedAt(readAt: number, subscriptions: readonly ListedSubscription[]): number {
  return subscriptions.reduce((latest, subscription) => Math.max(latest, ...timesOn(subscription)), readAt);
}

function timesOn({ createdAt, confirmedAt, deletedAt, formerly }: ListedSubscription): number[] {
  return [createdAt, confirmedAt, deletedAt, formerly?.until].filter((time) => time !== undefined);
}

/**
 * Whether a subscription took messages when this one was accepted. One that was deleted or asked to confirm again since then
 * did: its deliveries are recorded as cancelled.
 */
export function wasActiveAt(
  subscription: ListedSubscription,
  { acceptedAt, listedAt }: AcceptanceTimes,
): boolean {
  const { createdAt, confirmedAt, unconfirmed, deletedAt, expiresAt } = subscription;
  const begins = confirmedAt ?? createdAt;
  const ends = Math.min(unconfirmed?.at ?? Infinity, deletedAt ?? Infinity);
  return begins <= listedAt && ends > listedAt && (expiresAt ?? Infinity) > acceptedAt;
}

/** Before its last change a subscription had asked for something else. What it asked for before that, nobody knows any more. */
function interestsAt({ options, formerly }: ListedSubscription, at: number): Selection {
  return formerly !== undefined && at < formerly.until ? formerly : options;
}

/** A subscription with other options. What it asked for until now stays known, for the messages that were accepted before. */
export function withOptions(
  subscription: Subscription,
  options: SubscriptionOptions,
  now: number,
): Subscription {
  const before = interestsOf(subscription.options);
  const isSame = JSON.stringify(before) === JSON.stringify(interestsOf(options));
  return { ...subscription, options, ...(isSame ? {} : { formerly: { ...before, until: now } }) };
}

function interestsOf({ event_types, filter }: SubscriptionOptions): Selection {
  return {
    ...(event_types === undefined ? {} : { event_types }),
    ...(filter === undefined ? {} : { filter }),
  };
}

function isOfType(types: readonly string[] | undefined, type: string | undefined): boolean {
  return types === undefined || (type !== undefined && types.includes(type));
}

/** A list of subscriptions serves many messages; each of its filters is read once. */
const filtersRead = new WeakMap<object, ContentFilter>();

function readFilter(given: unknown, subscriptionId: string): ContentFilter {
  const known = isObject(given) ? filtersRead.get(given) : undefined;
  if (known !== undefined) return known;
  const read = parseContentFilter(given);
  if (!read.ok || !isObject(given)) throw new UnreadableFilterError(subscriptionId);
  filtersRead.set(given, read.filter);
  return read.filter;
}

/**
 * More than any filter takes on data without lists: of its 4,096 bytes a field has five or more, and there are 100 values and
 * comparisons (content-filter-schema.ts).
 */
const OWN_STEPS = 1_000;

/** For one subscription: some tens of milliseconds of one processor. */
const MAX_STEPS = 200_000;

/** For all subscriptions of a page, beyond what each has of its own. */
const SHARED_STEPS = 2_000_000;

/**
 * The steps that the filters of a page may take on one message. Each has some of its own, so that however much others take, the usual
 * filter is always decided; beyond those they draw from what is shared, first come, first served.
 */
function filterEffort(): { spend(judge: (effort: FilterBudget) => FilterResult): FilterResult } {
  const listsRead: FilterBudget['listsRead'] = new WeakMap();
  let shared = SHARED_STEPS;
  return {
    spend: (judge) => {
      const judgement = judge({ steps: Math.min(MAX_STEPS, OWN_STEPS + shared), listsRead });
      shared -= Math.max(0, judgement.steps - OWN_STEPS);
      return judgement;
    },
  };
}
