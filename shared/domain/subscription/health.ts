import { ANY_INVOCATION_MS } from '../delivery/lease.ts';
import type { Disabled, FailureStreak, Subscription, PendingEvent } from './subscription.ts';

/** Failures without a success between them that it takes to tell the operator. */
export const FAILURES_TO_NOTIFY = 20;

/** And, given time, to disable. Those between the two are counted apart (`towardsDisabling`). */
export const FAILURES_TO_DISABLE = 30;

/** Twice as many as are counted apart: at least half of the time lies between telling and disabling. */
const STEPS_TO_DISABLE = 2 * (FAILURES_TO_DISABLE - FAILURES_TO_NOTIFY);

/** Milliseconds. */
export type HealthRules = {
  /** How old a subscription may be that a first attempt goes by. */
  subscriptionCacheMs: number;
  /** After so long without a success a subscription is disabled. 0: never. */
  disableFailingAfterMs: number;
};

/** What an attempt says of its subscription. A spell of failures is known by its `since`. */
type SpellChange =
  | { kind: 'begin'; failing: FailureStreak }
  /** `failing` as it becomes: one failure more. */
  | { kind: 'count'; failing: FailureStreak; unsent?: PendingEvent }
  | { kind: 'recover'; since: number; unsent?: PendingEvent }
  | { kind: 'disable'; since: number; disabled: Disabled; unsent: PendingEvent };

/**
 * A write to a subscription's health, conditional on what it was decided by (`allows`). `changedAt` is that of the
 * subscription which the attempt went by.
 */
export type HealthChange = (SpellChange & { changedAt?: number }) | { kind: 'sent'; unsent: PendingEvent };

/** What a failed or rejected attempt changes. */
export function afterFailure(
  subscription: Subscription,
  now: number,
  rules: HealthRules,
): HealthChange | undefined {
  return onSubscription(subscription, onFailure(subscription.failing, now, rules));
}

/**
 * A success that was under way when the spell began, or that went by an older subscription, does not see it and so does
 * not end it; therefore nothing is counted before those are over. It also makes a subscriber that is down for half a
 * minute no news, and a burst of failures one write.
 */
function onFailure(
  failing: FailureStreak | undefined,
  now: number,
  rules: HealthRules,
): SpellChange | undefined {
  if (failing === undefined) return { kind: 'begin', failing: { since: now, failures: 1 } };
  const { since, failures } = failing;
  if (now - since < rules.subscriptionCacheMs + ANY_INVOCATION_MS) return undefined;
  if (failures < FAILURES_TO_NOTIFY) return countTowardsNotice({ since, failures: failures + 1 }, now);
  if (rules.disableFailingAfterMs === 0) return undefined;
  return countTowardsDisabling(failing, now, rules.disableFailingAfterMs);
}

function countTowardsNotice(failing: FailureStreak, now: number): SpellChange {
  if (failing.failures < FAILURES_TO_NOTIFY) return { kind: 'count', failing };
  const event = { type: 'subscription.failing', ...failing } as const;
  return { kind: 'count', failing: { ...failing, countedAt: now }, unsent: { event, at: now } };
}

/**
 * The age of the first failure alone says nothing where there was no traffic since, nor do many within a minute. So one
 * failure counts in a twentieth of the time, and ten are wanted after the operator was told, who has half of the time to
 * see to it.
 */
function countTowardsDisabling(
  failing: FailureStreak,
  now: number,
  afterMs: number,
): SpellChange | undefined {
  const { since, failures, countedAt = since } = failing;
  if (failures < FAILURES_TO_DISABLE)
    return now - countedAt < afterMs / STEPS_TO_DISABLE
      ? undefined
      : { kind: 'count', failing: { since, failures: failures + 1, countedAt: now } };
  if (now - since < afterMs) return undefined;
  const disabled: Disabled = { reason: 'failing', at: now };
  const event = { type: 'subscription.disabled', ...disabled } as const;
  return { kind: 'disable', since, disabled, unsent: { event, at: now } };
}

/** What a success changes: nothing, but on a subscription that was failing. Told to those who were told that it was. */
export function afterSuccess(subscription: Subscription, now: number): HealthChange | undefined {
  return onSubscription(subscription, onSuccess(subscription.failing, now));
}

function onSuccess(failing: FailureStreak | undefined, now: number): SpellChange | undefined {
  if (failing === undefined) return undefined;
  const { since, failures } = failing;
  if (failures < FAILURES_TO_NOTIFY) return { kind: 'recover', since };
  const event = { type: 'subscription.recovered', since, at: now } as const;
  return { kind: 'recover', since, unsent: { event, at: now } };
}

function onSubscription(
  { changedAt }: Subscription,
  noted: SpellChange | undefined,
): HealthChange | undefined {
  return noted === undefined || changedAt === undefined ? noted : { ...noted, changedAt };
}

/** What a change comes to, without when it was decided: of those with one name, by one reading, at most one is made. */
export function healthChangeName(change: HealthChange): string {
  if (change.kind === 'sent') return `sent ${change.unsent.event.type} ${change.unsent.at}`;
  return [change.kind, ...spellOf(change), `by ${change.changedAt ?? 'none'}`].join(' ');
}

function spellOf(change: SpellChange): readonly number[] {
  switch (change.kind) {
    case 'begin':
      return [];
    case 'count':
      return [change.failing.since, change.failing.failures];
    case 'recover':
    case 'disable':
      return [change.since];
  }
}

/** Whoever wrote it has not sent it, or has not come to take it off: it is sent again. */
export function isEventUnsent({ at }: PendingEvent, now: number): boolean {
  return now - at >= ANY_INVOCATION_MS;
}

/** Whether the condition of a change holds. The DynamoDB adapter says the same in its own language. */
export function healthChangeHolds(subscription: Subscription, change: HealthChange): boolean {
  return (
    hasRoom(subscription, change) &&
    (change.kind === 'sent' || isUnchanged(subscription, change.changedAt)) &&
    isSpellUnchanged(subscription, change)
  );
}

/** Whether a 410 disables: it is what that attempt went by, and nobody disabled it before. */
export function mayDisable(subscription: Subscription, changedAt: number | undefined): boolean {
  return isEnabled(subscription) && isUnchanged(subscription, changedAt);
}

/**
 * Whether it has the subscriber still that an attempt was made to, and was not enabled since. Equal or not, and not earlier or
 * later: clocks differ, and a first attempt goes by what was cached some seconds ago.
 */
function isUnchanged(subscription: Subscription, changedAt: number | undefined): boolean {
  return subscription.changedAt === changedAt;
}

/** One thing at a time is to be told of; what is there already has to be told first. */
function hasRoom({ unsent }: Subscription, change: HealthChange): boolean {
  return unsent === undefined || change.kind === 'sent' || !('unsent' in change);
}

function isSpellUnchanged(subscription: Subscription, change: HealthChange): boolean {
  const { failing, unsent } = subscription;
  switch (change.kind) {
    case 'begin':
      return failing === undefined && isEnabled(subscription);
    case 'count':
      return isOneMore(change.failing, failing) && isEnabled(subscription);
    case 'recover':
      return failing?.since === change.since;
    case 'disable':
      return isWholeSpell(failing, change.since) && isEnabled(subscription);
    case 'sent':
      return isSameEvent(unsent, change.unsent);
  }
}

function isEnabled({ disabled }: Subscription): boolean {
  return disabled === undefined;
}

function isOneMore(next: FailureStreak, current: FailureStreak | undefined): boolean {
  return current?.since === next.since && current.failures === next.failures - 1;
}

function isWholeSpell(failing: FailureStreak | undefined, since: number): boolean {
  return failing?.since === since && failing.failures >= FAILURES_TO_DISABLE;
}

function isSameEvent(there: PendingEvent | undefined, sent: PendingEvent): boolean {
  return there?.at === sent.at && there.event.type === sent.event.type;
}

/** The subscription after a change whose condition held. */
export function applyHealthChange(change: HealthChange, subscription: Subscription): Subscription {
  const { failing, unsent, ...rest } = subscription;
  switch (change.kind) {
    case 'begin':
      return { ...subscription, failing: change.failing };
    case 'count':
      return { ...subscription, failing: change.failing, ...pendingEventField(change.unsent ?? unsent) };
    case 'recover':
      return { ...rest, ...pendingEventField(change.unsent ?? unsent) };
    case 'disable':
      return { ...subscription, disabled: change.disabled, ...pendingEventField(change.unsent) };
    case 'sent':
      return { ...rest, ...(failing === undefined ? {} : { failing }) };
  }
}

function pendingEventField(unsent: PendingEvent | undefined): { unsent?: PendingEvent } {
  return unsent === undefined ? {} : { unsent };
}
