import { ContendedError } from '../../../shared/domain/contention.ts';
import { findLastPause, type Pausable, pause, resume } from '../../../shared/domain/subscription/pause.ts';
import { asPull } from '../../../shared/domain/subscription/destination.ts';
import { LATEST_REQUEST_MS } from '../../../shared/domain/retry/attempt-duration.ts';
import {
  computeAttemptTimeout,
  type Queue,
  type Subscription,
} from '../../../shared/domain/subscription/subscription.ts';
import type { WaitingPlace } from '../../../shared/domain/delivery/paused.ts';
import type { RegistryChange } from '../../../shared/ports/subscriptions.ts';
import type { ApiSettings, ChangeContext } from '../dependencies.ts';
import { CHANGED_WITHIN_SECONDS, type ChangeResult, changePresent } from '../subscriptions/change.ts';

export type PauseResult = RegistryChange<Queue> | ChangeResult;

/**
 * Pauses a subscription, or all of a queue, or changes the end of the pause. `until`: milliseconds since the epoch;
 * undefined: until it is resumed.
 * @throws ContendedError, or when the operation that ends the waits could not be sent; nothing is changed then
 */
export async function pauseAt(
  context: ChangeContext,
  place: WaitingPlace,
  until: number | undefined,
): Promise<PauseResult> {
  const now = await announce(context, place, CHANGED_WITHIN_SECONDS);
  return changeAt(context, place, (current) => pause(requireLatest(current, now), { now, until }));
}

/**
 * Ends the pause of a subscription or of a queue. What waited is sent at `perSecond`; a repeat changes that rate for what
 * still waits. `left`: it never was paused.
 */
export async function resumeAt(
  context: ChangeContext,
  place: WaitingPlace,
  perSecond: number | undefined,
): Promise<PauseResult> {
  const { registry, settings } = context;
  const { queue, subscriptionId } = place;
  const current = await (subscriptionId === undefined
    ? registry.findQueue(queue)
    : registry.findSubscription(queue, subscriptionId));
  if (findLastPause(current) === undefined) return changeAt(context, place, (unchanged) => unchanged);
  // deliver does not see the end before its cached queue is as old as it may be.
  const seenAfter = subscriptionId === undefined ? Math.ceil(settings.subscriptionCacheMs / 1000) : 0;
  const now = await announce(context, place, CHANGED_WITHIN_SECONDS + seenAfter);
  return changeAt(context, place, (paused) => resume(requireLatest(paused, now), { now, perSecond }));
}

/** @throws ContendedError if a later change is on record: the operation of this one may have found it, and given up */
function requireLatest<Of extends Pausable>(current: Of, now: number): Of {
  if ((findLastPause(current)?.version ?? 0) > now) throw new ContendedError('pause');
  return current;
}

function changeAt(
  context: ChangeContext,
  { queue, subscriptionId }: WaitingPlace,
  change: <Of extends Pausable>(current: Of) => Of,
): Promise<PauseResult> {
  return subscriptionId === undefined
    ? context.registry.changeQueue(queue, change)
    : changePresent(context, { queue, subscriptionId }, change);
}

/**
 * Sends the operation that ends the waits, before the change: a crash between the two must not leave deliveries waiting.
 * Returns the version of the change, which it looks for.
 */
async function announce(
  { clock, operations }: ChangeContext,
  place: WaitingPlace,
  delaySeconds: number,
): Promise<number> {
  const version = clock.now();
  await operations.send({ kind: 'pause', ...place, version }, delaySeconds);
  return version;
}

/**
 * Seconds from a pause, a disabling or a deletion until the last request has ended: first attempts use a cached
 * subscription, and an invocation makes the requests that it has planned. test/simulation/ holds deliver to it.
 */
export function requestsEndWithinSeconds(
  { subscriptionCacheMs, attemptTimeoutMs }: Pick<ApiSettings, 'subscriptionCacheMs' | 'attemptTimeoutMs'>,
  of: { queue?: Pick<Queue, 'metadata'> | undefined; subscription?: Subscription | undefined },
): number {
  const { queue, subscription } = of;
  // A receiver by pull gets nothing from the answer on.
  if (subscription !== undefined && asPull(subscription.destination) !== undefined) return 0;
  const { options = {} } = subscription ?? {};
  const timeoutMs = computeAttemptTimeout({ queue, subscription: { options } }, attemptTimeoutMs);
  return Math.ceil((subscriptionCacheMs + LATEST_REQUEST_MS + timeoutMs) / 1000);
}
