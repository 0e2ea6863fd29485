import { findLastPause, type Pausable, pause, resume } from '../../../shared/domain/subscription/pause.ts';
import { asPull } from '../../../shared/domain/subscription/destination.ts';
import { LATEST_REQUEST_MS } from '../../../shared/domain/retry/attempt-duration.ts';
import {
  computeAttemptTimeout,
  type Queue,
  type Subscription,
  type SubscriptionKey,
} from '../../../shared/domain/subscription/subscription.ts';
import type { WaitingPlace } from '../../../shared/domain/delivery/paused.ts';
import type { Registry, RegistryChange } from '../../../shared/ports/subscriptions.ts';
import type { ApiPorts, ApiSettings } from '../dependencies.ts';
import { type ChangeContext, type ChangeResult, changePresent } from '../subscriptions/change.ts';

type PauseContext = ChangeContext &
  Pick<ApiPorts, 'operations'> & {
    registry: Pick<Registry, 'findQueue' | 'findSubscription' | 'changeQueue'>;
    settings: Pick<ApiSettings, 'subscriptionCacheMs'>;
  };

/** How long the change of the record may take. A later one is found by the operation's second look. */
export const CHANGED_WITHIN_SECONDS = 2;

/**
 * Pauses a subscription, or changes the end of its pause. `until`: milliseconds since the epoch; undefined: until it is
 * resumed.
 * @throws when the operation that ends the waits could not be sent; nothing is changed then
 */
export async function pauseSubscription(
  context: PauseContext,
  key: SubscriptionKey,
  until: number | undefined,
): Promise<ChangeResult> {
  const now = await announce(context, key, CHANGED_WITHIN_SECONDS);
  return changePresent(context, key, (current) => pause(current, { now, until }));
}

/** The same for all subscriptions of a queue. */
export async function pauseQueue(
  context: PauseContext,
  queue: string,
  until: number | undefined,
): Promise<RegistryChange<Queue>> {
  const now = await announce(context, { queue }, CHANGED_WITHIN_SECONDS);
  return context.registry.changeQueue(queue, (current) => pause(current, { now, until }));
}

/**
 * Ends the pause of a subscription. What waited is sent at `perSecond`; a repeat changes that rate for what still waits.
 * `left`: it never was paused.
 */
export async function resumeSubscription(
  context: PauseContext,
  key: SubscriptionKey,
  perSecond: number | undefined,
): Promise<ChangeResult> {
  const current = await context.registry.findSubscription(key.queue, key.subscriptionId);
  if (!wasPaused(current)) return changePresent(context, key, () => undefined);
  const now = await announce(context, key, CHANGED_WITHIN_SECONDS);
  return changePresent(context, key, (subscription) => resume(subscription, { now, perSecond }));
}

/** The same for a queue. deliver does not see the end before its cached queue is as old as it may be. */
export async function resumeQueue(
  context: PauseContext,
  queue: string,
  perSecond: number | undefined,
): Promise<RegistryChange<Queue>> {
  const { registry, settings } = context;
  if (!wasPaused(await registry.findQueue(queue))) return registry.changeQueue(queue, (current) => current);
  const seenAfter = Math.ceil(settings.subscriptionCacheMs / 1000);
  const now = await announce(context, { queue }, CHANGED_WITHIN_SECONDS + seenAfter);
  return registry.changeQueue(queue, (current) => resume(current, { now, perSecond }));
}

function wasPaused(of: Pausable | undefined): boolean {
  return findLastPause(of) !== undefined;
}

/**
 * Sends the operation that ends the waits, before the change: a crash between the two must not leave deliveries waiting.
 * Returns the version of the change, which it looks for.
 */
async function announce(
  { clock, operations }: PauseContext,
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
  of: { queue?: Pick<Queue, 'metadata'> | undefined; subscription?: Subscription },
): number {
  const { queue, subscription } = of;
  // A receiver by pull gets nothing from the answer on.
  if (subscription !== undefined && asPull(subscription.destination) !== undefined) return 0;
  const { options = {} } = subscription ?? {};
  const timeoutMs = computeAttemptTimeout({ queue, subscription: { options } }, attemptTimeoutMs);
  return Math.ceil((subscriptionCacheMs + LATEST_REQUEST_MS + timeoutMs) / 1000);
}
