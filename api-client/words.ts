import type { Books } from '../shared/domain/delivery/books.ts';
import type { Status, WaitReason } from '../shared/domain/delivery/vocabulary.ts';
import { inUnits } from '../shared/domain/duration.ts';
import type { RedrivenQueue } from '../shared/domain/work-queues.ts';
import type { WaitView } from '../shared/wire/views/delivery.ts';
import type { SubscriptionView } from '../shared/wire/views/subscription.ts';
import type { ListedDelivery } from './operations.ts';

// What the command and the console say in the same words.

/** `1 retry`, `2 retries`, `1,250 retries`. */
export function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** A text of the API, which writes times in UTC, with times as the reader sees them elsewhere. */
export function withTimes(text: string, format: (time: string) => string): string {
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => format(time));
}

/** How long a stopped subscription can still get requests. */
export function requestsEndText(seconds: number): string {
  return `A request can still go out in the next ${counted(seconds, 'second', 'seconds')}.`;
}

export type PauseView = NonNullable<SubscriptionView['paused']>;

export type BackPressure = NonNullable<SubscriptionView['backPressure']>;

/** The state of a slowed subscription (docs/retry-policy.md#back-pressure). */
export function pressureState({ reason, perSecond }: BackPressure): 'throttled' | 'circuit open' | 'slowed' {
  if (reason === 'receiver_throttled') return 'throttled';
  return perSecond === undefined ? 'circuit open' : 'slowed';
}

/** What the figures of a reconciliation report count, in the order of the console. */
export const BOOKS_MEANINGS: Readonly<Record<keyof Books, string>> = {
  accepted: 'messages accepted',
  duplicates: 'copies of these messages, dropped',
  unmatched: 'messages that matched no subscription',
  unfinished: 'messages not sent to all subscriptions yet',
  filtered: 'deliveries that a filter prevented',
  matched: 'deliveries to make, one per message and matching subscription',
  delivered: 'accepted by the subscriber',
  pending: 'recorded and not ended yet',
  rejected: 'refused by the subscriber, and not retried',
  exhausted: 'failed after all retries',
  cancelled: 'cancelled manually, or because they could not be sent any more',
};

/** What the statuses of a delivery mean. */
export const STATUS_MEANINGS: Readonly<Record<Status, string>> = {
  delivered: 'the subscriber accepted it',
  retrying: 'attempts failed, and another one follows',
  pending: 'the first attempt is still to come',
  rejected: 'the subscriber refused it',
  exhausted: 'all attempts failed',
  cancelled: 'it was cancelled',
};

/** What a delivery waited for, in a word or two. */
export const WAIT_LABELS: Readonly<Record<WaitReason, string>> = {
  rate_limited: 'rate limit',
  receiver_throttled: 'throttled',
  circuit_open: 'held',
  pull: 'pull',
  paused: 'paused',
  lag: 'lag',
};

/** `7 min 58 s (rate limit), 2 s (lag)`, without reasons of less than half a second. Undefined: none is left. */
export function waitsText(waits: readonly WaitView[] = []): string | undefined {
  const total = new Map<WaitReason, number>();
  for (const { reason, ms } of waits) total.set(reason, (total.get(reason) ?? 0) + ms);
  const texts = [...total].flatMap(([reason, ms]) => {
    const length = inUnits(ms / 1000).join(' ');
    return length === '' ? [] : [`${length} (${WAIT_LABELS[reason]})`];
  });
  return texts.length === 0 ? undefined : texts.join(', ');
}

/** Waits that ended, and one that lasts. */
export type Waits = Pick<ListedDelivery, 'waiting' | 'waitingSince' | 'waited'>;

/** The waits until `now`, in milliseconds since the epoch. */
export function waitsSoFar({ waiting, waitingSince, waited = [] }: Waits, now: number): WaitView[] {
  if (waiting === undefined || waitingSince === undefined) return waited;
  return [...waited, { reason: waiting, ms: Math.max(0, now - Date.parse(waitingSince)) }];
}

/** The attempt that is being made, if any. After the end of its lease it may be made again. */
export function findInFlight({ inFlight }: Pick<ListedDelivery, 'inFlight'>, now: number) {
  return inFlight !== undefined && Date.parse(inFlight.until) > now ? inFlight : undefined;
}

/** The dead-letter queues by their names in the health report. */
export const HEALTH_NAMES: Record<RedrivenQueue, string> = {
  ingress: 'ingressDeadLetters',
  delivery: 'deliveryDeadLetters',
  operation: 'operationDeadLetters',
  undeliverable: 'undeliverable',
};

/** Why there is nothing to explain. `matched`: the subscriptions that matched the message when it was accepted. */
export function noneLeftText(matched: number): string {
  return matched === 0
    ? 'The queue has no subscription, and the message matched none.'
    : `No subscription is left; the message matched ${matched} when it was accepted.`;
}
