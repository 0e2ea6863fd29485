import { MAX_INVOCATION_MS } from '../retry/attempt-duration.ts';
import { type CertificateWarning, isWarningWanted } from './certificate-warning.ts';
import { type Pausable, sumOfPauses } from './pause.ts';
import { isPressureUnchanged, type PressureChange } from './pressure-changes.ts';
import type { Disabled, FailureStreak, Subscription, PendingEvent } from './subscription.ts';

/** Failures in a row after which the operator is notified. */
export const FAILURES_TO_NOTIFY = 20;

/**
 * Failures in a row after which, given enough time, a subscription is disabled. The failures after the notification
 * are counted at intervals (`countTowardsDisabling`).
 */
export const FAILURES_TO_DISABLE = 30;

/**
 * Intervals that the time before disabling is divided into. The failures counted at intervals fill half of them, so
 * at least half of the time is left after the notification.
 */
const STEPS_TO_DISABLE = 2 * (FAILURES_TO_DISABLE - FAILURES_TO_NOTIFY);

/** All in milliseconds. */
export type HealthRules = {
  /** Maximum age of the cached subscription that a first attempt uses. */
  subscriptionCacheMs: number;
  /** Time without a success after which a subscription is disabled. 0: never. */
  disableFailingAfterMs: number;
};

/** Health change caused by an attempt. A failure streak is identified by `since`. */
type StreakChange =
  | { kind: 'begin'; failing: FailureStreak }
  /** `failing`: the new value, with one more failure. */
  | { kind: 'count'; failing: FailureStreak; unsent?: PendingEvent }
  | { kind: 'recover'; since: number; unsent?: PendingEvent }
  | { kind: 'disable'; since: number; disabled: Disabled; unsent: PendingEvent };

/**
 * A conditional write to a subscription's health; condition: `healthChangeHolds`. `version`: that of the
 * subscription that the attempt used.
 */
export type HealthChange =
  | (StreakChange & { version?: number })
  | PressureChange
  | CertificateWarning
  | { kind: 'sent'; unsent: PendingEvent };

/** The health change caused by a failed or rejected attempt. `queue`: the subscription was paused with it. */
export function afterFailure(
  subscription: Subscription,
  now: number,
  rules: HealthRules,
  queue?: Pausable,
): HealthChange | undefined {
  const { failing } = subscription;
  const pausedMs = failing === undefined ? 0 : sumOfPauses([queue, subscription], failing.since, now);
  return withVersion(subscription, onFailure(failing, now, { ...rules, pausedMs }));
}

/**
 * No failure is counted until attempts that began before the streak have ended: their successes used an older
 * subscription and do not end the streak. A minute of downtime is therefore not reported, and a burst of
 * failures costs one write.
 */
function onFailure(
  failing: FailureStreak | undefined,
  now: number,
  rules: HealthRules & { pausedMs: number },
): StreakChange | undefined {
  if (failing === undefined) return { kind: 'begin', failing: { since: now, failures: 1 } };
  const { since, failures } = failing;
  if (now - since < rules.subscriptionCacheMs + MAX_INVOCATION_MS) return undefined;
  if (failures < FAILURES_TO_NOTIFY) return countTowardsNotice({ since, failures: failures + 1 }, now);
  if (rules.disableFailingAfterMs === 0) return undefined;
  return countTowardsDisabling(failing, now, rules);
}

function countTowardsNotice(failing: FailureStreak, now: number): StreakChange {
  if (failing.failures < FAILURES_TO_NOTIFY) return { kind: 'count', failing };
  const event = { type: 'subscription.failing', ...failing } as const;
  return { kind: 'count', failing: { ...failing, countedAt: now }, unsent: { event, at: now } };
}

/**
 * The streak's age alone proves nothing without traffic, nor do many failures within a minute. So after the
 * notification ten failures count, at intervals of a twentieth of the time, and the operator has half of the time
 * to react. Paused time is no part of its age.
 */
function countTowardsDisabling(
  failing: FailureStreak,
  now: number,
  { disableFailingAfterMs: afterMs, pausedMs }: HealthRules & { pausedMs: number },
): StreakChange | undefined {
  const { since, failures, countedAt = since } = failing;
  if (failures < FAILURES_TO_DISABLE)
    return now - countedAt < afterMs / STEPS_TO_DISABLE
      ? undefined
      : { kind: 'count', failing: { since, failures: failures + 1, countedAt: now } };
  if (now - since - pausedMs < afterMs) return undefined;
  const disabled: Disabled = { reason: 'failing', at: now };
  const event = { type: 'subscription.disabled', ...disabled } as const;
  return { kind: 'disable', since, disabled, unsent: { event, at: now } };
}

/**
 * The health change caused by a success: ends a failure streak; notifies if the operator was notified of the
 * streak.
 */
export function afterSuccess(subscription: Subscription, now: number): HealthChange | undefined {
  return withVersion(subscription, onSuccess(subscription.failing, now));
}

function onSuccess(failing: FailureStreak | undefined, now: number): StreakChange | undefined {
  if (failing === undefined) return undefined;
  const { since, failures } = failing;
  if (failures < FAILURES_TO_NOTIFY) return { kind: 'recover', since };
  const event = { type: 'subscription.recovered', since, at: now } as const;
  return { kind: 'recover', since, unsent: { event, at: now } };
}

function withVersion({ version }: Subscription, change: StreakChange | undefined): HealthChange | undefined {
  return change === undefined || version === undefined ? change : { ...change, version };
}

/**
 * Identifies a change independent of its time: of changes with one name, based on one read, at most one is written.
 */
export function healthChangeName(change: HealthChange): string {
  if (change.kind === 'sent') return `sent ${change.unsent.event.type} ${change.unsent.at}`;
  return [change.kind, ...pickBasis(change), `by ${change.version ?? 'none'}`].join(' ');
}

function pickBasis(change: StreakChange | PressureChange | CertificateWarning): readonly (number | string)[] {
  switch (change.kind) {
    case 'pressure':
      return [change.from ?? 'none'];
    case 'warn_of_certificate':
      return [change.at, change.days];
    case 'begin':
      return [];
    case 'count':
      return [change.failing.since, change.failing.failures];
    case 'recover':
    case 'disable':
      return [change.since];
  }
}

/** Whether the invocation that wrote an event has ended without sending or clearing it; it is then sent again. */
export function isEventUnsent({ at }: PendingEvent, now: number): boolean {
  return now - at >= MAX_INVOCATION_MS;
}

/** Whether the condition of a change holds. The DynamoDB adapter expresses the same condition. */
export function healthChangeHolds(subscription: Subscription, change: HealthChange): boolean {
  return hasRoom(subscription, change) && isStillApt(subscription, change);
}

/** Whether nothing but an earlier event, which must be sent first, keeps a change from being written. */
export function waitsForEvent(subscription: Subscription, change: HealthChange): boolean {
  return !hasRoom(subscription, change) && isStillApt(subscription, change);
}

/**
 * Whether the subscription still has the subscriber of the attempt and was not re-enabled: compares versions for equality,
 * because clocks differ and first attempts use cached subscriptions.
 */
function isStillApt(subscription: Subscription, change: HealthChange): boolean {
  return (
    (change.kind === 'sent' || subscription.version === change.version) &&
    isBasisUnchanged(subscription, change)
  );
}

/** Only one event can be pending; it must be sent first. */
function hasRoom({ unsent }: Subscription, change: HealthChange): boolean {
  return unsent === undefined || change.kind === 'sent' || !('unsent' in change);
}

function isBasisUnchanged(subscription: Subscription, change: HealthChange): boolean {
  const { failing, unsent } = subscription;
  switch (change.kind) {
    case 'pressure':
      return isPressureUnchanged(subscription, change);
    case 'warn_of_certificate':
      return isWarningWanted(subscription, change);
    case 'begin':
      return failing === undefined && isEnabled(subscription);
    case 'count':
      return isOneMore(change.failing, failing) && isEnabled(subscription);
    case 'recover':
      return failing?.since === change.since;
    case 'disable':
      return isCompleteStreak(failing, change.since) && isEnabled(subscription);
    case 'sent':
      return unsent?.at === change.unsent.at && unsent.event.type === change.unsent.event.type;
  }
}

function isEnabled({ disabled }: Subscription): boolean {
  return disabled === undefined;
}

function isOneMore(next: FailureStreak, current: FailureStreak | undefined): boolean {
  return current?.since === next.since && current.failures === next.failures - 1;
}

function isCompleteStreak(failing: FailureStreak | undefined, since: number): boolean {
  return failing?.since === since && failing.failures >= FAILURES_TO_DISABLE;
}
