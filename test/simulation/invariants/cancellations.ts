import { isOpen } from '../../../shared/domain/delivery/delivery.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { Write } from '../history.ts';
import { MINUTE, START } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import {
  acceptanceOf,
  recordAt,
  violation,
  type DeliveryCase,
  type Finding,
  type Invariant,
} from './delivery-case.ts';
import { validBetween } from './policy.ts';

/** Whoever cancels a delivery has read, in that very invocation, what it is cancelled for. */
export const cancelledForAReason: Invariant = (one) =>
  one.writes.flatMap((write) => {
    const { transition, after, actor, at } = write;
    if (transition.name !== 'cancel' || isTrue(one, write)) return [];
    return [violation('cancelled_for_a_reason', one, `${after.reason} by ${actor.name} at ${at}`)];
  });

const isTrue = (one: DeliveryCase, { after, actor, at }: Write): boolean => {
  const { reason } = after;
  const now = at + actor.clockOffset;
  const { world, messageId, subscriptionId } = one;
  // What a cache says against a subscription is asked again.
  const versions = validBetween(world.subscriptions.versionsOf(subscriptionId), actor.startedAt, at);
  const isAny = (holds: (subscription: Subscription) => boolean): boolean =>
    versions.some((version) => version !== undefined && holds(version));
  if (reason === undefined) return false;
  switch (reason) {
    case 'subscription_deleted':
      return (
        versions.length === 0 ||
        versions.includes(undefined) ||
        isAny(({ deletedAt }) => deletedAt !== undefined)
      );
    case 'subscription_expired':
      return isAny(({ expiresAt = Infinity }) => expiresAt <= now);
    case 'disabled':
      return isAny(({ disabled }) => disabled !== undefined);
    case 'manual':
      return world.scenario.interventions.some(
        (asked) =>
          asked.kind === 'cancel' &&
          asked.messageId === messageId &&
          asked.subscriptionId === subscriptionId &&
          START + asked.at <= at,
      );
    case 'message_expired':
      return (acceptanceOf(one)?.actor.copy?.message.expiresAt ?? Infinity) <= now;
    case 'queue_deleted':
      return isOfDeletedQueue(one, at);
    // Told by an invariant of its own.
    case 'body_missing':
      return true;
    default:
      return false;
  }
};

/** The life of its queue is over in which the message was accepted. */
const isOfDeletedQueue = (one: DeliveryCase, at: number): boolean => {
  const life = acceptanceOf(one)?.record.life;
  const { queueVersions } = one.world.subscriptions;
  return validBetween(queueVersions, at, at).every((queue) => queue?.createdAt !== life);
};

/** Within this time operate has listed what is pending and cancelled it, if nothing goes wrong. */
const SOON_MS = MINUTE;

/** In half an hour operate looks six times for what it could not cancel, and gives up then. */
const GIVEN_UP_AFTER_MS = 30 * MINUTE;

/** What is pending for a deleted subscription, or on a deleted queue, is cancelled at once, and need not wait for its next attempt. */
export const deletionsCancel: Invariant = (one) => {
  const { world, subscriptionId } = one;
  const marked = world.subscriptions
    .versionsOf(subscriptionId)
    .find(({ value }) => value?.deletedAt !== undefined);
  const deletions = [
    ...(marked === undefined ? [] : [marked.from]),
    ...world.subscriptions.queueVersions.flatMap(({ value, from }) => (value === undefined ? [from] : [])),
  ];
  return deletions.flatMap((deletedAt) => {
    if (recordAt(one, deletedAt)?.status !== 'retrying') return [];
    const later = recordAt(one, deletedAt + SOON_MS);
    if (later === undefined || !isOpen(later.status) || isDisturbed(world, deletedAt, deletedAt + SOON_MS))
      return [];
    return [
      violation('deletions_cancel', one, `${later.status} a minute after the deletion at ${deletedAt}`),
    ];
  });
};

/** A subscription that is marked for deletion is removed in the end, and not before what was pending for it is over. */
export const marksAreRemoved = (world: SimulatedWorld, cases: readonly DeliveryCase[]): Finding[] =>
  world.scenario.subscriptions.flatMap(({ id }) => {
    const versions = world.subscriptions.versionsOf(id);
    const index = versions.findIndex(({ value }) => value?.deletedAt !== undefined);
    const marked = versions[index];
    if (marked === undefined) return [];
    const removed = versions.slice(index).find(({ value }) => value === undefined);
    if (removed === undefined)
      return isDisturbed(world, marked.from + GIVEN_UP_AFTER_MS, Infinity)
        ? []
        : [violation('marks_are_removed', { name: id }, 'it is marked still')];
    return cases
      .filter((one) => one.subscriptionId === id)
      .filter((one) => [marked.from, removed.from].every((at) => recordAt(one, at)?.status === 'retrying'))
      .map((one) => violation('marks_are_removed', one, 'before its pending delivery was over'));
  });

const isDisturbed = ({ faults, scenario }: SimulatedWorld, from: number, to: number): boolean =>
  faults.injected.some(({ at }) => at >= from && at <= to) ||
  scenario.standstills.some((one) => START + one.from <= to && START + one.to >= from);
