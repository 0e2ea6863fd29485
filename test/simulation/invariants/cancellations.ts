import { endOfAttempt } from '../../../shared/domain/delivery/attempt.ts';
import { isOpen } from '../../../shared/domain/delivery/delivery.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { Write } from '../history.ts';
import { MINUTE, START } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import {
  acceptanceOf,
  isDisturbed,
  recordAt,
  violation,
  type DeliveryCase,
  type Finding,
  type Invariant,
} from './delivery-case.ts';
import { expectedDelayMs } from './attempts.ts';
import { erasureOf } from './fidelity.ts';
import { deletionsIn } from './pauses.ts';
import { validBetween } from './policy.ts';

/** A cancellation has a reason that its invocation read. */
export const cancelledForAReason: Invariant = (one) =>
  one.writes.flatMap((write) => {
    const { transition, after, actor, at } = write;
    if (after.status !== 'cancelled' || !ENDING.has(transition.name) || isTrue(one, write)) return [];
    return [violation('cancelled_for_a_reason', one, `${after.reason} by ${actor.name} at ${at}`)];
  });

/** A `record` cancels what would expire before its retry. */
const ENDING: ReadonlySet<Write['transition']['name']> = new Set(['cancel', 'record']);

const isTrue = (one: DeliveryCase, write: Write): boolean => {
  const { after, actor, at } = write;
  const now = at + actor.clockOffset;
  if (after.status !== 'cancelled') return false;
  switch (after.reason) {
    case 'manual':
      return wasRequested(one, at);
    case 'message_expired':
      return (acceptanceOf(one)?.actor.copy?.message.expiresAt ?? Infinity) <= dueAfter(write, now);
    case 'queue_deleted':
      // Read since its start; the queue may have been restored meanwhile.
      return isOfDeletedQueue(one, at, actor.startedAt);
    case 'body_erased':
      return erasureOf(one) <= at;
    // Checked by a separate invariant.
    case 'body_missing':
      return true;
    case 'subscription_deleted':
    case 'subscription_expired':
    case 'subscription_unconfirmed':
    case 'disabled':
      // Deliver reads an absent subscription again without the cache.
      return validBetween(one.world.subscriptions.versionsOf(one.subscriptionId), actor.startedAt, at)
        .concat(existedBefore(one, actor.startedAt) ? [] : [undefined])
        .some((subscription) => absenceOf(subscription, now, one.messageId) === after.reason);
    case 'not_received':
    case 'paused_too_long':
    case 'unknown':
      return false;
  }
};

/** When the next attempt would have been due at the latest. */
const dueAfter = ({ transition, after, actor }: Write, now: number): number => {
  const last = after.attempts.at(-1);
  if (transition.name !== 'record' || last === undefined || after.policy === undefined) return now;
  const inRound = after.attempts.filter(({ round }) => round === after.round).length;
  const delayMs = expectedDelayMs(after.policy, inRound)?.most ?? 0;
  return endOfAttempt(last) + Math.max(delayMs, actor.settings.retryAfterCapMs) + ROUNDING_MS;
};

const ROUNDING_MS = 2;

const existedBefore = ({ world, subscriptionId }: DeliveryCase, time: number): boolean =>
  (world.subscriptions.versionsOf(subscriptionId)[0]?.from ?? Infinity) <= time;

/** Why a subscription cannot be called: the first reason in the order of docs/concepts.md#states-of-a-delivery. */
const absenceOf = (
  subscription: Subscription | undefined,
  now: number,
  messageId: string,
): Write['after']['reason'] => {
  if (subscription === undefined || subscription.deletedAt !== undefined) return 'subscription_deleted';
  if ((subscription.expiresAt ?? Infinity) <= now) return 'subscription_expired';
  const { unconfirmed } = subscription;
  if (unconfirmed !== undefined && messageId !== `confirm_${unconfirmed.tokenHash}`)
    return 'subscription_unconfirmed';
  return subscription.disabled === undefined ? undefined : 'disabled';
};

const wasRequested = ({ world, messageId, subscriptionId }: DeliveryCase, at: number): boolean =>
  world.scenario.interventions.some(
    (asked) =>
      asked.kind === 'cancel' &&
      asked.messageId === messageId &&
      asked.subscriptionId === subscriptionId &&
      START + asked.at <= at,
  );

/** The queue's life in which the message was accepted has ended. A confirmation request does not contain its life. */
export const isOfDeletedQueue = (one: DeliveryCase, at: number, since = at): boolean => {
  const acceptance = acceptanceOf(one);
  const life = acceptance?.record.queueCreatedAt;
  const { queueVersions } = one.world.subscriptions;
  return life === undefined
    ? validBetween(queueVersions, acceptance?.at ?? 0, at).includes(undefined)
    : validBetween(queueVersions, since, at).some((queue) => queue?.createdAt !== life);
};

/** Operate cancels pending deliveries within this time if there are no faults. */
const SOON_MS = MINUTE;

/** Operate gives up failed cancellations after six passes in half an hour. */
const GIVEN_UP_AFTER_MS = 30 * MINUTE;

/** Retrying deliveries of a deleted subscription or queue are cancelled at once, before their next attempt. */
export const deletionsCancel: Invariant = (one) => {
  const { world, subscriptionId } = one;
  const deletions = [world.subscriptions.versionsOf(subscriptionId), world.subscriptions.queueVersions]
    .flatMap(deletionsIn)
    .flatMap(({ from, until }) => (until > from + SOON_MS ? [from] : []));
  return deletions.flatMap((deletedAt) => {
    if (recordAt(one, deletedAt)?.status !== 'retrying') return [];
    const later = recordAt(one, deletedAt + SOON_MS);
    if (later === undefined || !isOpen(later) || isDisturbed(world, deletedAt, deletedAt + SOON_MS))
      return [];
    return [
      violation('deletions_cancel', one, `${later.status} a minute after the deletion at ${deletedAt}`),
    ];
  });
};

/** A deleted subscription that is not restored is removed eventually, and not before its retrying deliveries have ended. */
export const deletedSubscriptionsAreRemoved = (
  world: SimulatedWorld,
  cases: readonly DeliveryCase[],
): Finding[] =>
  world.scenario.subscriptions.flatMap(({ id }) => {
    const versions = world.subscriptions.versionsOf(id);
    const index = versions.findLastIndex(
      ({ value }, each) =>
        value?.deletedAt !== undefined && versions[each - 1]?.value?.deletedAt === undefined,
    );
    const marked = versions[index];
    if (marked === undefined) return [];
    const removed = versions.slice(index).find(({ value }) => value?.deletedAt === undefined);
    // It was restored.
    if (removed?.value !== undefined) return [];
    if (removed === undefined)
      return isDisturbed(world, marked.from + GIVEN_UP_AFTER_MS, Infinity)
        ? []
        : [violation('deleted_subscriptions_are_removed', id, 'it is still marked for deletion')];
    // A deleted queue removes its subscriptions at once.
    if (validBetween(world.subscriptions.queueVersions, removed.from, removed.from).includes(undefined))
      return [];
    return cases
      .filter((one) => one.subscriptionId === id)
      .filter((one) => [marked.from, removed.from].every((at) => recordAt(one, at)?.status === 'retrying'))
      .map((one) =>
        violation('deleted_subscriptions_are_removed', one, 'before its pending delivery was over'),
      );
  });
