import {
  type AcceptanceTimes,
  type Exclusion,
  isOfType,
  judgeSelection,
  type MatchContent,
  type PageBudget,
  selectionAt,
  UnreadableFilterError,
  wasArchivedAt,
} from '../message/matching.ts';
import { isExpired, type Message } from '../message/message.ts';
import type { RetryPolicy } from '../retry/policy.ts';
import type { PolicySource } from '../retry/vocabulary.ts';
import { findPauseInForce, type Pausable } from '../subscription/pause.ts';
import { toWaitingReason } from '../subscription/rate-limit.ts';
import type { Selection, Subscription } from '../subscription/subscription.ts';
import type { PausedBy } from '../subscription/vocabulary.ts';
import { attemptsInRound } from './attempt.ts';
import { computeStart, type Delivery, isOpen, type OpenDelivery } from './delivery.ts';
import { type FanOut, isAhead, partWith } from './fan-out.ts';
import { followingAttempt, type PlannedAttempt } from './next-attempt.ts';
import { isPaused } from './paused.ts';
import { isReceivable } from './pull.ts';
import { type ExplainVerdict, isOpenStatus } from './vocabulary.ts';

/** Why a subscription got a message, or did not. `certain`: false where what is kept does not decide it. */
export type Explanation = { verdict: ExplainVerdict; certain: boolean; detail?: string; rule?: Exclusion };

/** The record of the message. `isForOne`: Posthaste sent it to one subscription, past dispatch. */
export type ExplainedMessage = AcceptanceTimes &
  FanOut & { type?: string; isForOne: boolean; erasedAt?: number; accepted?: Pick<Message, 'expiresAt'> };

/** A subscription and its delivery of the message. A deleted subscription is missing once it is removed. */
export type ExplainedPair = { subscription: Subscription | undefined; delivery: Delivery | undefined };

/**
 * `content`: undefined if the body is not kept. `areAllRecorded`: whether every matched subscription has a delivery
 * on record; undefined: not counted. `now` and `retentionMs` are milliseconds.
 */
export type Evidence = {
  content: MatchContent | undefined;
  areAllRecorded: boolean | undefined;
  /** Of the name now. */
  queue: Pausable | undefined;
  /** The queue that accepted the message. */
  isQueueDeleted: boolean;
  budget: PageBudget;
  now: number;
  retentionMs: number;
};

/**
 * Explains one subscription from the records; what they do not hold is judged again as dispatch does. Undefined: there
 * is neither a subscription nor a delivery.
 */
export function explain(
  message: ExplainedMessage,
  { subscription, delivery }: ExplainedPair,
  evidence: Evidence,
): Explanation | undefined {
  if (delivery === undefined) return subscription && explainAbsence(message, subscription, evidence);
  const pause = findPauseState(delivery, subscription, evidence);
  const verdict = toVerdict(delivery, pause, evidence);
  const isFailed = verdict === 'exhausted' || verdict === 'rejected';
  const refused = isFailed ? explainRefusedRetry(message, subscription, evidence) : {};
  return { verdict, certain: true, ...refused, ...explainWait(delivery, subscription, pause, evidence) };
}

/** Why a retry of a failed delivery would be refused. */
function explainRefusedRetry(
  { erasedAt, accepted = {} }: ExplainedMessage,
  subscription: Subscription | undefined,
  { now }: Evidence,
): Pick<Explanation, 'detail'> {
  if (erasedAt !== undefined) return { detail: 'The data of the message was erased.' };
  if (isExpired(accepted, now)) return { detail: 'The ttl of the message has expired.' };
  return subscription?.disabled ? { detail: 'The subscription is disabled: enable it to retry.' } : {};
}

/** `over`: it still waits on record, until operate makes it due. */
type PauseState = PausedBy | 'over' | undefined;

/** Undefined: no pause delays it. What waits to be received stays where it is during one. */
function findPauseState(
  delivery: Delivery,
  subscription: Subscription | undefined,
  { queue, now }: Evidence,
): PauseState {
  const inForce = findPauseInForce({ queue, subscription }, now)?.by;
  if (isPaused(delivery)) return inForce ?? 'over';
  return isReceivable(delivery) ? inForce : undefined;
}

function explainWait(
  delivery: Delivery,
  subscription: Subscription | undefined,
  pause: PauseState,
  { isQueueDeleted }: Evidence,
): Pick<Explanation, 'detail'> {
  if (isQueueDeleted) return { detail: 'The queue has been deleted.' };
  if (subscription === undefined || subscription.deletedAt !== undefined)
    return { detail: 'The subscription has been deleted.' };
  if (pause !== undefined) return { detail: PAUSED_DETAIL[pause] };
  if (!isReceivable(delivery)) return {};
  return subscription.disabled === undefined
    ? { detail: 'It waits until its subscriber receives it.' }
    : { detail: 'Its subscriber cannot receive it until the subscription is enabled.' };
}

const PAUSED_DETAIL = {
  subscription: 'It waits until the subscription is resumed.',
  queue: 'It waits until the queue is resumed.',
  over: 'It is sent in the order of acceptance: the pause is over.',
};

function toVerdict(delivery: Delivery, pause: PauseState, { isQueueDeleted }: Evidence): ExplainVerdict {
  const { status, reason } = delivery;
  // Its subscriptions go first, so that deliver may find none before operate cancels the delivery.
  if (isQueueDeleted && reason === 'subscription_deleted') return 'cancelled';
  if (pause !== undefined) return 'paused';
  if (isOpen(delivery)) return toOpenVerdict(delivery);
  return status === 'cancelled' ? (VERDICT_BY_REASON.get(reason) ?? 'cancelled') : status;
}

function toOpenVerdict(delivery: OpenDelivery): ExplainVerdict {
  const { status, slot, lease } = delivery;
  return slot !== undefined && lease === undefined ? toWaitingReason(slot) : status;
}

/** Cancellations that say something of the subscription. */
const VERDICT_BY_REASON: ReadonlyMap<string | undefined, ExplainVerdict> = new Map([
  ['subscription_deleted', 'deleted'],
  ['subscription_expired', 'expired'],
  ['subscription_unconfirmed', 'unconfirmed'],
  ['disabled', 'disabled'],
]);

function explainAbsence(
  message: ExplainedMessage,
  subscription: Subscription,
  evidence: Evidence,
): Explanation {
  if (message.isForOne)
    return certainly(
      'filtered',
      'Posthaste sent this message to one subscription: a test or a confirmation.',
    );
  if (isAhead(message, subscription.id))
    return certainly(
      'not_sent_yet',
      'Dispatch still sends this message to the queue, and has not reached this subscription.',
    );
  const { listedAt } = partWith(message, subscription.id);
  return (
    explainInactive(subscription, { acceptedAt: message.acceptedAt, listedAt }) ??
    explainSelection(message, subscription, listedAt, evidence)
  );
}

/** Why the subscription was not active when its list was read, as `wasActiveAt` judges it; undefined: it was. */
function explainInactive(subscription: Subscription, times: AcceptanceTimes): Explanation | undefined {
  const { createdAt, deletedAt, expiresAt, restored } = subscription;
  if (createdAt > times.listedAt)
    return certainly(
      'added_later',
      `It was created at ${timeText(createdAt)}, after the subscriptions were read for the message.`,
    );
  if (deletedAt !== undefined && deletedAt <= times.listedAt)
    return certainly('deleted', `It was deleted at ${timeText(deletedAt)}.`);
  if (restored !== undefined && wasArchivedAt(subscription, times.listedAt)) {
    const [from, to] = [timeText(restored.deletedAt), timeText(restored.at)];
    return certainly(
      'deleted',
      `It was deleted at ${from}, and restored at ${to}, after the subscriptions were read for the message.`,
    );
  }
  if (expiresAt !== undefined && expiresAt <= times.acceptedAt)
    return certainly('expired', `It expired at ${timeText(expiresAt)}, before the message was accepted.`);
  return explainUnconfirmed(subscription, times);
}

function explainUnconfirmed(
  { confirmedAt, unconfirmed }: Subscription,
  { listedAt }: AcceptanceTimes,
): Explanation | undefined {
  if (unconfirmed !== undefined && unconfirmed.at <= listedAt)
    return certainly('unconfirmed', `It has waited for its confirmation since ${timeText(unconfirmed.at)}.`);
  if (confirmedAt === undefined || confirmedAt <= listedAt) return undefined;
  return probably(
    'unconfirmed',
    `It was confirmed at ${timeText(confirmedAt)}; whether it had been confirmed before is not kept.`,
  );
}

function explainSelection(
  message: ExplainedMessage,
  subscription: Subscription,
  listedAt: number,
  evidence: Evidence,
): Explanation {
  const judge = (selection: Selection): Judgement =>
    judgeAgain(message, subscription.id, selection, evidence);
  try {
    const selection = selectionAt(subscription, listedAt);
    const then = judge(selection);
    const change = changeAfter(subscription, listedAt);
    const since = change && [change, NOW[toNow(judge(subscription.options))]].join(' ');
    return then === 'selected'
      ? explainMatch(message, since, evidence)
      : explainExclusion(then, since, evidence, describeTypes(message, selection));
  } catch (error) {
    if (error instanceof UnreadableFilterError) return probably('not_sent_yet', error.message);
    throw error;
  }
}

/** `unknown`: the filter needs the body of the message, which is not kept. */
type Judgement = Exclusion | 'selected' | 'unknown';

function judgeAgain(
  message: ExplainedMessage,
  subscriptionId: string,
  selection: Selection,
  { content, budget }: Evidence,
): Judgement {
  if (!isOfType(selection.event_types, message.type)) return { by: 'event_types' };
  if (selection.filter === undefined) return 'selected';
  if (content === undefined) return 'unknown';
  return judgeSelection(selection, subscriptionId, content, budget).exclusion ?? 'selected';
}

/** Says that the selection changed after the list was read. Only the one before the last change is kept. */
function changeAfter({ options, previousSelection }: Subscription, listedAt: number): string | undefined {
  if (previousSelection === undefined || previousSelection.until <= listedAt) return undefined;
  const isFilter = JSON.stringify(options.filter) !== JSON.stringify(previousSelection.filter);
  const changed = isFilter ? 'Its filter has' : 'Its event types have';
  return `${changed} changed since, at ${timeText(previousSelection.until)}.`;
}

function toNow(judgement: Judgement): keyof typeof NOW {
  return typeof judgement === 'string' ? judgement : 'excluded';
}

const KEPT_BY =
  'Bodies of filtered messages are kept where _retain_messages of the queue, or the setting retainMessages, is all.';

const NOW = {
  selected: 'It would match now.',
  excluded: 'It would not match now either.',
  unknown: `Whether it would match now is not known, because the body of the message is not kept. ${KEPT_BY}`,
};

const DID_NOT_MATCH = 'It did not match when the message was accepted.';

/** Event types that an explanation names. */
const MAX_TYPES = 10;

function describeTypes({ type }: ExplainedMessage, { event_types: wanted = [] }: Selection): string {
  const named = [...wanted.slice(0, MAX_TYPES), ...(wanted.length > MAX_TYPES ? ['…'] : [])].join(', ');
  return `The message has ${type === undefined ? 'no type' : `the type ${type}`}; wanted: ${named}.`;
}

/** `since`: how the selection changed afterwards. A message whose matches all have deliveries did not match. */
function explainExclusion(
  then: Exclusion | 'unknown',
  since: string | undefined,
  { areAllRecorded }: Evidence,
  types: string,
): Explanation {
  const rule: Exclusion = then === 'unknown' ? { by: 'filter' } : then;
  const isCertain = areAllRecorded === true;
  if (since !== undefined) {
    const basis = isCertain ? DID_NOT_MATCH : 'This is judged by its options before their last change.';
    return { verdict: 'filtered', certain: isCertain, rule, detail: `${basis} ${since}` };
  }
  if (then !== 'unknown')
    return { verdict: 'filtered', certain: true, rule, ...(then.by === 'event_types' && { detail: types }) };
  const detail = `The body of the message is not kept, so its filter cannot be evaluated again. ${KEPT_BY}`;
  return { verdict: 'filtered', certain: isCertain, rule, detail };
}

/** The options of then, as far as they are kept, select the message, and there is no delivery. */
function explainMatch(
  { acceptedAt }: ExplainedMessage,
  since: string | undefined,
  { areAllRecorded, now, retentionMs }: Evidence,
): Explanation {
  if (now >= acceptedAt + retentionMs)
    return probably('expired', 'The message is older than the retention, so its deliveries are deleted.');
  if (areAllRecorded === true) return probably('filtered', `${DID_NOT_MATCH} ${since ?? NOW.selected}`);
  return {
    verdict: 'not_sent_yet',
    certain: since === undefined && areAllRecorded === false,
    detail: 'It matches, but its first attempt has not begun: its job waits, or is among the dead letters.',
  };
}

function certainly(verdict: ExplainVerdict, detail: string): Explanation {
  return { verdict, certain: true, detail };
}

function probably(verdict: ExplainVerdict, detail: string): Explanation {
  return { verdict, certain: false, detail };
}

function timeText(time: number): string {
  return new Date(time).toISOString();
}

/**
 * The remaining attempts of a delivery's round, including the one due or in flight, if each failed at its due time.
 * Seeded jitter makes these times exact; request durations shift them. Empty for an ended delivery.
 */
export function plannedAttempts(
  delivery: Pick<Delivery, 'key' | 'status' | 'round' | 'attempts' | 'next' | 'slot' | 'updatedAt'>,
  policy: RetryPolicy,
): PlannedAttempt[] {
  if (!isOpenStatus(delivery.status)) return [];
  const made = attemptsInRound(delivery);
  const planned: PlannedAttempt[] = [];
  let attempt: PlannedAttempt | undefined = planFirst(delivery);
  while (attempt !== undefined) {
    planned.push(attempt);
    attempt = followingAttempt({
      key: delivery.key,
      policy,
      failed: { number: attempt.number, startedAt: attempt.dueAt, durationMs: 0 },
      attemptsInRound: made + planned.length,
      retryAfterMs: 0,
    });
  }
  return planned;
}

/** A first attempt has no recorded due time; it starts when its record is written. */
function planFirst(delivery: Pick<Delivery, 'attempts' | 'next' | 'slot' | 'updatedAt'>): PlannedAttempt {
  const { attempts, next, slot, updatedAt } = delivery;
  return next === undefined
    ? { number: attempts.length + 1, phase: 'initial', dueAt: updatedAt }
    : { number: next.number, phase: next.phase, dueAt: computeStart({ slot }, next) };
}

/** A delivery with its policy and its planned attempts. */
export type DeliveryDetail = {
  delivery: Delivery;
  policy: RetryPolicy;
  /**
   * `delivery`: stored with it at the round's first failure. Otherwise the source of the policy that would be
   * stored now.
   */
  policySource: PolicySource | 'delivery';
  planned: readonly PlannedAttempt[];
};
