import type { Disabled, Failing, Subscription, Unsent } from './subscription.ts';

/** Failures without a success between them that it takes to tell the operator, and, given time, to disable. */
export const FAILURES_IN_ALL = 20;

/** Longer than any invocation of deliver: what one began before that is over, and what it left undone stays so. */
export const INVOCATION_MS = 60_000;

/** Milliseconds. */
export type HealthRules = {
  /** How old a subscription may be that a first attempt goes by. */
  subscriptionCacheMs: number;
  /** After so long without a success a subscription is disabled. 0: never. */
  disableFailingAfterMs: number;
};

/**
 * A write to a subscription's health, conditional on what it was decided by (`allows`). A spell of failures is known by
 * its `since`.
 */
export type HealthChange =
  | { kind: 'begin'; failing: Failing }
  /** `failing` as it becomes: one failure more. */
  | { kind: 'count'; failing: Failing; unsent?: Unsent }
  | { kind: 'recover'; since: number; unsent?: Unsent }
  | { kind: 'disable'; since: number; disabled: Disabled; unsent: Unsent }
  | { kind: 'sent'; unsent: Unsent };

/**
 * What a failed or rejected attempt changes. A success that was under way when the spell began, or that went by an older
 * subscription, does not see it and so does not end it; therefore nothing is counted before those are over. It also
 * makes a subscriber that is down for half a minute no news, and a burst of failures one write.
 */
export const afterFailure = (
  { failing }: Subscription,
  now: number,
  { subscriptionCacheMs, disableFailingAfterMs }: HealthRules,
): HealthChange | undefined => {
  if (failing === undefined) return { kind: 'begin', failing: { since: now, failures: 1 } };
  const { since, failures } = failing;
  if (now - since < subscriptionCacheMs + INVOCATION_MS) return undefined;
  if (failures < FAILURES_IN_ALL) return counting({ since, failures: failures + 1 }, now);
  if (disableFailingAfterMs === 0 || now - since < disableFailingAfterMs) return undefined;
  const disabled: Disabled = { reason: 'failing', at: now };
  const event = { type: 'subscription.disabled', ...disabled } as const;
  return { kind: 'disable', since, disabled, unsent: { event, at: now } };
};

const counting = (failing: Failing, now: number): HealthChange =>
  failing.failures < FAILURES_IN_ALL
    ? { kind: 'count', failing }
    : { kind: 'count', failing, unsent: { event: { type: 'subscription.failing', ...failing }, at: now } };

/** What a success changes: nothing, but on a subscription that was failing. Told to those who were told that it was. */
export const afterSuccess = ({ failing }: Subscription, now: number): HealthChange | undefined => {
  if (failing === undefined) return undefined;
  const { since, failures } = failing;
  if (failures < FAILURES_IN_ALL) return { kind: 'recover', since };
  const event = { type: 'subscription.recovered', since, at: now } as const;
  return { kind: 'recover', since, unsent: { event, at: now } };
};

/** Whoever wrote it has not sent it, or has not come to take it off: it is sent again. */
export const isLeftOver = ({ at }: Unsent, now: number): boolean => now - at >= INVOCATION_MS;

/** Whether the condition of a change holds. The DynamoDB adapter says the same in its own language. */
export const allows = (subscription: Subscription, change: HealthChange): boolean =>
  hasRoom(subscription, change) && isAsDecidedBy(subscription, change);

/** One thing at a time is to be told of; what is there already has to be told first. */
const hasRoom = ({ unsent }: Subscription, change: HealthChange): boolean =>
  unsent === undefined || change.kind === 'sent' || !('unsent' in change);

const isAsDecidedBy = (subscription: Subscription, change: HealthChange): boolean => {
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
      return isSame(unsent, change.unsent);
  }
};

const isEnabled = ({ disabled }: Subscription): boolean => disabled === undefined;

const isOneMore = (next: Failing, current: Failing | undefined): boolean =>
  current?.since === next.since && current.failures === next.failures - 1;

const isWholeSpell = (failing: Failing | undefined, since: number): boolean =>
  failing?.since === since && failing.failures >= FAILURES_IN_ALL;

const isSame = (there: Unsent | undefined, sent: Unsent): boolean =>
  there?.at === sent.at && there.event.type === sent.event.type;

/** The subscription after a change whose condition held. */
export const changedBy = (change: HealthChange, subscription: Subscription): Subscription => {
  const { failing, unsent, ...rest } = subscription;
  switch (change.kind) {
    case 'begin':
      return { ...subscription, failing: change.failing };
    case 'count':
      return { ...subscription, failing: change.failing, ...toldOf(change.unsent ?? unsent) };
    case 'recover':
      return { ...rest, ...toldOf(change.unsent ?? unsent) };
    case 'disable':
      return { ...subscription, disabled: change.disabled, ...toldOf(change.unsent) };
    case 'sent':
      return { ...rest, ...(failing === undefined ? {} : { failing }) };
  }
};

const toldOf = (unsent: Unsent | undefined): { unsent?: Unsent } => (unsent === undefined ? {} : { unsent });
