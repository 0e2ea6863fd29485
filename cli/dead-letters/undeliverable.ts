import { inParallel } from '../../shared/adapters/in-parallel.ts';
import type { DeadLetter, RedriveOutcome } from '../../shared/domain/delivery/dead-letter.ts';
import { isOpenStatus } from '../../shared/domain/delivery/vocabulary.ts';
import { type EndedDelivery, readUndeliverableNotice } from '../../shared/wire/jobs/redrive.ts';
import { type NoticeState, SETTLED_NOTICES } from '../../shared/wire/views/console.ts';
import type { DeliveryView } from '../../shared/wire/views/delivery.ts';
import type { RecoveryView } from '../../shared/wire/views/recovery.ts';
import type { SubscriptionView } from '../../shared/wire/views/subscription.ts';
import type { ApiClient } from '../../api-client/api-client.ts';
import { deliveryPath } from '../../api-client/deliveries.ts';
import { showMessage } from '../../api-client/messages.ts';
import { getDelivery, getSubscription, retryDelivery } from '../../api-client/operations.ts';
import { isForbidden, isNotFound, isRefusal, orElse } from '../../api-client/refusal.ts';
import { NoSuchQueue } from '../api/find-subscription.ts';

const SIDE_BY_SIDE = 8;

/**
 * Retries the deliveries of undeliverable notices, with their ids. Safe to repeat: a delivery that was already reopened
 * is open or has more attempts than its notice says, so the notice is settled. `dryRun`: only says what a run would do.
 * @throws Problem or ApiRefusal when the API does not respond or denies access
 */
export function retryUndeliverable(
  api: ApiClient,
  ended: readonly EndedDelivery[],
  dryRun = false,
): Promise<RedriveOutcome[]> {
  const { stateSince, subscriptionOf } = createReaders(api);
  return inParallel(ended, SIDE_BY_SIDE, async (one): Promise<RedriveOutcome> => {
    const state = await stateSince(one);
    if (state === 'not_on_record') return { kind: 'refused', reason: state };
    if (state === 'open' || isSettled(state)) return { kind: 'settled', reason: state };
    return dryRun ? foreseen(await subscriptionOf(one)) : await retriedOne(api, one);
  });
}

/** What a retry would answer as far as the subscription tells: the API refuses one that gets no requests. */
function foreseen(subscription: Found): RedriveOutcome {
  if (typeof subscription !== 'object') return { kind: 'redriven' };
  const { disabled, confirmed } = subscription;
  if (disabled !== undefined)
    return { kind: 'refused', reason: 'the subscription is disabled; enable it first' };
  return confirmed ? { kind: 'redriven' } : { kind: 'refused', reason: 'the subscription is unconfirmed' };
}

async function retriedOne(api: ApiClient, ended: EndedDelivery): Promise<RedriveOutcome> {
  try {
    await api.call(retryDelivery, deliveryPath(ended));
    return { kind: 'redriven' };
  } catch (error) {
    if (isNotFound(error)) return { kind: 'refused', reason: 'not_on_record' };
    if (isRefusal(error) && error.code === 'conflict') return { kind: 'refused', reason: error.message };
    throw error;
  }
}

/**
 * What became of the deliveries since their undeliverable notices, in order; undefined for a message that is no notice.
 * @throws as `retryUndeliverable`
 */
export function statesSince(
  api: ApiClient,
  notices: readonly DeadLetter[],
): Promise<(NoticeState | undefined)[]> {
  const { stateSince } = createReaders(api);
  return inParallel(notices, SIDE_BY_SIDE, async (notice) => {
    const reading = readUndeliverableNotice(notice);
    return reading.kind === 'skip' ? undefined : stateSince(reading.message);
  });
}

/** `unknown`: the caller may not read it. */
type Found = SubscriptionView | 'missing' | 'unknown';

/** Reads each subscription once: many notices are of the same. */
function createReaders(api: ApiClient) {
  const found = new Map<string, Promise<Found>>();
  const subscriptionOf = ({ queue, subscriptionId: subscription }: EndedDelivery): Promise<Found> => {
    const name = JSON.stringify([queue, subscription]);
    const read =
      found.get(name) ??
      api
        .call(getSubscription, { path: { queue, subscription } })
        .catch(orElse(isMissing, 'missing' as const))
        .catch(orElse(isForbidden, 'unknown' as const));
    found.set(name, read);
    return read;
  };
  const stateSince = async (ended: EndedDelivery): Promise<NoticeState> => {
    const view = await api.call(getDelivery, deliveryPath(ended)).catch(orElse(isMissing, undefined));
    const state = view === undefined ? 'not_on_record' : classifyNotice(view, ended);
    const isToDo = state !== 'open' && !isSettled(state);
    return isToDo && (await subscriptionOf(ended)) === 'missing' ? 'subscription_deleted' : state;
  };
  return { subscriptionOf, stateSince };
}

function isMissing(error: unknown): boolean {
  return error instanceof NoSuchQueue || isNotFound(error);
}

function classifyNotice({ status, attempts }: DeliveryView, { attemptCount }: EndedDelivery): NoticeState {
  if (isOpenStatus(status)) return 'open';
  if (status === 'delivered' || status === 'cancelled') return status;
  return attempts.length > attemptCount ? 'ended_again' : status;
}

const settled: ReadonlySet<NoticeState> = new Set(SETTLED_NOTICES);

/** Whether a notice needs nothing more. An open delivery ends with a success or with a newer notice. */
export function isSettled(state: NoticeState): boolean {
  return settled.has(state);
}

/** Which deliveries a recovery could reopen. */
export type Recovered = Pick<RecoveryView, 'since' | 'until' | 'by' | 'status'>;

/**
 * Counts settled notices as handled, and refuses the others, so that they stay. `recovered`: also those of other
 * deliveries.
 */
export function settledOnly(
  api: ApiClient,
  notices: readonly DeadLetter[],
  recovered?: Recovered,
): Promise<RedriveOutcome[]> {
  const { stateSince } = createReaders(api);
  return inParallel(notices, SIDE_BY_SIDE, async (notice): Promise<RedriveOutcome> => {
    const reading = readUndeliverableNotice(notice);
    if (reading.kind === 'skip') return { kind: 'refused', reason: 'not a notice' };
    const state = await stateSince(reading.message);
    if (!isSettled(state)) return { kind: 'refused', reason: state };
    return recovered === undefined || (await isAmong(recovered, api, reading.message))
      ? { kind: 'redriven' }
      : { kind: 'refused', reason: 'not recovered' };
  });
}

async function isAmong(
  { since, until, by, status }: Recovered,
  api: ApiClient,
  ended: EndedDelivery,
): Promise<boolean> {
  if (status !== undefined && ended.status !== status) return false;
  const at = by === 'failure' ? ended.endedAt : await acceptanceOf(api, ended);
  return at !== undefined && at >= Date.parse(since) && at < Date.parse(until);
}

async function acceptanceOf(
  api: ApiClient,
  { queue, messageId }: EndedDelivery,
): Promise<number | undefined> {
  const message = await showMessage(api, queue, messageId).catch(orElse(isNotFound, undefined));
  return message && Date.parse(message.view.acceptedAt);
}
