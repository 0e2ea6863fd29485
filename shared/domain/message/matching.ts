import { isObject } from '../json.ts';
import {
  type ContentFilter,
  type FilterBudget,
  evaluateFilter,
  type FilterResult,
} from '../subscription/content-filter.ts';
import { parseContentFilter } from '../subscription/content-filter-schema.ts';
import type {
  Selection,
  ListedSubscription,
  Subscription,
  SubscriptionOptions,
} from '../subscription/subscription.ts';
import type { Message } from './message.ts';

/**
 * A stored filter that this version cannot read, because a later version wrote it. Matching stops: skipping the
 * subscription could lose deliveries.
 */
export class UnreadableFilterError extends Error {
  override readonly name = 'UnreadableFilterError';
  readonly subscriptionId: string;

  constructor(subscriptionId: string) {
    super(`The filter of the subscription ${subscriptionId} cannot be read.`);
    this.subscriptionId = subscriptionId;
  }
}

/** The parts of a message that subscriptions select by. */
export type MatchContent = { type?: string; data: () => unknown };

/** The match content of a message; its data (up to 1 MiB) is parsed once, on first use. */
export function toMatchContent({ type, data }: Pick<Message, 'type' | 'data'>): MatchContent {
  let parsed: { value: unknown } | undefined;
  return {
    ...(type === undefined ? {} : { type }),
    data: () => {
      parsed ??= { value: JSON.parse(data) };
      return parsed.value;
    },
  };
}

/** When a message was accepted, and when its subscriptions were listed. */
export type AcceptanceTimes = { acceptedAt: number; listedAt: number };

/**
 * `filtered`: active subscriptions that their options excluded. `undecided`: those of `matching` whose filters ran
 * out of steps.
 */
export type MatchResult = {
  matching: readonly ListedSubscription[];
  filtered: number;
  undecided: readonly ListedSubscription[];
};

/**
 * The subscriptions that a message is sent to, judged as of its first acceptance, as far as the records still show
 * it. A disabled subscription matches (docs/concepts.md#states-of-a-delivery), and so does an undecided filter: an
 * unwanted message is better than a lost one. The same subscriptions in the same order give the same result.
 * @throws UnreadableFilterError
 */
export function matchSubscriptions(
  subscriptions: readonly ListedSubscription[],
  content: MatchContent,
  acceptance: AcceptanceTimes,
): MatchResult {
  const active = subscriptions.filter((subscription) => wasActiveAt(subscription, acceptance));
  const budget = filterBudget();
  const undecided: ListedSubscription[] = [];
  const matching = active.filter((subscription) => {
    const selection = selectionAt(subscription, acceptance.listedAt);
    const { exclusion, isUndecided } = judgeSelection(selection, subscription.id, content, budget);
    if (isUndecided) undecided.push(subscription);
    return exclusion === undefined;
  });
  return { matching, filtered: active.length - matching.length, undecided };
}

/** Why a selection excludes a message. `path`: the first field of the filter that does not match, if known. */
export type Exclusion = { by: 'event_types' } | { by: 'filter'; path?: string };

/**
 * What a selection decides about a message; no exclusion: it matches. `isUndecided`: the filter ran out of steps.
 * @throws UnreadableFilterError
 */
export function judgeSelection(
  { event_types, filter }: Selection,
  subscriptionId: string,
  content: MatchContent,
  budget: PageBudget,
): { exclusion: Exclusion | undefined; isUndecided: boolean } {
  if (!isOfType(event_types, content.type)) return { exclusion: { by: 'event_types' }, isUndecided: false };
  if (filter === undefined) return { exclusion: undefined, isUndecided: false };
  const read = readFilter(filter, subscriptionId);
  const { mismatch, isUndecided } = budget.spend((allowed) => evaluateFilter(read, content.data(), allowed));
  return { exclusion: mismatch === undefined ? undefined : { by: 'filter', path: mismatch }, isUndecided };
}

/**
 * When a list was read, corrected for clock differences: each change visible on it happened earlier, even if its
 * timestamp is later.
 */
export function listedAt(readAt: number, subscriptions: readonly ListedSubscription[]): number {
  return subscriptions.reduce((latest, subscription) => Math.max(latest, ...timesOn(subscription)), readAt);
}

function timesOn(subscription: ListedSubscription): number[] {
  const { createdAt, confirmedAt, deletedAt, previousSelection, restored } = subscription;
  const times = [createdAt, confirmedAt, deletedAt, previousSelection?.until, restored?.at];
  return times.filter((time) => time !== undefined);
}

/**
 * Whether a subscription was active when the message was accepted. One that was deleted or became unconfirmed since
 * then counts as active: its delivery is recorded as cancelled.
 */
export function wasActiveAt(
  subscription: ListedSubscription,
  { acceptedAt, listedAt }: AcceptanceTimes,
): boolean {
  const { createdAt, confirmedAt, expiresAt } = subscription;
  const begins = confirmedAt ?? createdAt;
  return (
    begins <= listedAt &&
    findEnd(subscription) > listedAt &&
    (expiresAt ?? Infinity) > acceptedAt &&
    !wasArchivedAt(subscription, listedAt)
  );
}

function findEnd({ unconfirmed, deletedAt }: ListedSubscription): number {
  return Math.min(unconfirmed?.at ?? Infinity, deletedAt ?? Infinity);
}

/** Whether it was deleted then, and restored later. */
export function wasArchivedAt({ restored }: Pick<ListedSubscription, 'restored'>, at: number): boolean {
  return restored !== undefined && restored.deletedAt <= at && at < restored.at;
}

/** What a subscription selected at a time. Only one previous selection is kept; earlier ones are unknown. */
export function selectionAt({ options, previousSelection }: ListedSubscription, at: number): Selection {
  return previousSelection !== undefined && at < previousSelection.until ? previousSelection : options;
}

/** The subscription with new options; keeps its previous selection for messages accepted before the change. */
export function withOptions(
  subscription: Subscription,
  options: SubscriptionOptions,
  now: number,
): Subscription {
  const before = pickSelection(subscription.options);
  const isSame = JSON.stringify(before) === JSON.stringify(pickSelection(options));
  return { ...subscription, options, ...(isSame ? {} : { previousSelection: { ...before, until: now } }) };
}

function pickSelection({ event_types, filter }: SubscriptionOptions): Selection {
  return {
    ...(event_types === undefined ? {} : { event_types }),
    ...(filter === undefined ? {} : { filter }),
  };
}

export function isOfType(types: readonly string[] | undefined, type: string | undefined): boolean {
  return types === undefined || (type !== undefined && types.includes(type));
}

/** Many messages share a list of subscriptions; each filter is parsed once. */
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
 * Steps guaranteed to each filter: enough for any filter on data without lists, because 4,096 bytes allow fewer
 * than 1,000 fields and there are at most 100 values and comparisons (content-filter-schema.ts).
 */
const GUARANTEED_STEPS = 1_000;

/** Most steps of one filter: tens of milliseconds of one processor. */
const MAX_STEPS = 200_000;

/** Most steps of a page's filters beyond their guaranteed steps. */
const SHARED_STEPS = 2_000_000;

export type PageBudget = { spend(evaluate: (budget: FilterBudget) => FilterResult): FilterResult };

/**
 * The step budget of a page's filters for one message. Each filter has guaranteed steps, so that expensive filters
 * cannot leave a usual one undecided; further steps come from a shared pool, first come, first served.
 */
export function filterBudget(): PageBudget {
  const listsRead: FilterBudget['listsRead'] = new WeakMap();
  let shared = SHARED_STEPS;
  return {
    spend: (evaluate) => {
      const result = evaluate({ steps: Math.min(MAX_STEPS, GUARANTEED_STEPS + shared), listsRead });
      shared -= Math.max(0, result.steps - GUARANTEED_STEPS);
      return result;
    },
  };
}
