import { inParallel } from '../../shared/adapters/in-parallel.ts';
import type { DeadLetter, RedriveOutcome } from '../../shared/domain/delivery/dead-letter.ts';
import { isOpen } from '../../shared/domain/delivery/delivery.ts';
import type { NoticeState } from '../../shared/domain/vocabulary.ts';
import { type EndedDelivery, readUndeliverableNotice } from '../../shared/wire/jobs/dead-letter.ts';
import type { DeliveryView } from '../../shared/wire/views/delivery.ts';
import type { RecoveryView } from '../../shared/wire/views/recovery.ts';
import type { ApiClient } from '../api/api-request.ts';
import { ApiRefusal } from '../api/api-refusal.ts';
import { retryDelivery, showDelivery } from '../api/deliveries.ts';
import { showMessage } from '../api/messages.ts';

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
  return inParallel(ended, SIDE_BY_SIDE, (one) => retryOne(api, one, dryRun));
}

async function retryOne(api: ApiClient, ended: EndedDelivery, dryRun: boolean): Promise<RedriveOutcome> {
  const state = await stateSince(api, ended);
  switch (state) {
    case 'not_on_record':
      return { kind: 'refused', reason: state };
    case 'delivered':
    case 'cancelled':
    case 'open':
    case 'ended_again':
      return { kind: 'settled', reason: state };
    case 'rejected':
    case 'exhausted':
      return dryRun ? { kind: 'redriven' } : await retriedOne(api, ended);
  }
}

async function retriedOne(api: ApiClient, ended: EndedDelivery): Promise<RedriveOutcome> {
  try {
    await retryDelivery(api, ended);
    return { kind: 'redriven' };
  } catch (error) {
    if (error instanceof ApiRefusal && error.code === 'not_found')
      return { kind: 'refused', reason: 'not_on_record' };
    if (error instanceof ApiRefusal && error.code === 'conflict')
      return { kind: 'refused', reason: error.message };
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
  return inParallel(notices, SIDE_BY_SIDE, async (notice) => {
    const reading = readUndeliverableNotice(notice);
    return reading.kind === 'skip' ? undefined : stateSince(api, reading.message);
  });
}

async function stateSince(api: ApiClient, ended: EndedDelivery): Promise<NoticeState> {
  try {
    return stateOf(await showDelivery(api, ended), ended);
  } catch (error) {
    if (error instanceof ApiRefusal && error.code === 'not_found') return 'not_on_record';
    throw error;
  }
}

function stateOf(
  { status, attempts }: Pick<DeliveryView, 'status' | 'attempts'>,
  { attemptCount }: EndedDelivery,
): NoticeState {
  if (isOpen(status)) return 'open';
  if (status === 'delivered' || status === 'cancelled') return status;
  return attempts.length > attemptCount ? 'ended_again' : status;
}

/** Whether a notice needs nothing more. An open delivery ends with a success or with a newer notice. */
export function isSettled(state: NoticeState): boolean {
  return state === 'delivered' || state === 'cancelled' || state === 'ended_again';
}

/** Which deliveries a recovery could reopen. */
export type Recovered = Pick<RecoveryView, 'since' | 'until' | 'status'>;

/**
 * Counts settled notices as handled, and refuses the others, so that they stay. `recovered`: also those of other
 * deliveries.
 */
export function settledOnly(
  api: ApiClient,
  notices: readonly DeadLetter[],
  recovered?: Recovered,
): Promise<RedriveOutcome[]> {
  return inParallel(notices, SIDE_BY_SIDE, async (notice): Promise<RedriveOutcome> => {
    const reading = readUndeliverableNotice(notice);
    if (reading.kind === 'skip') return { kind: 'refused', reason: 'not a notice' };
    const state = await stateSince(api, reading.message);
    if (!isSettled(state)) return { kind: 'refused', reason: state };
    return recovered === undefined || (await isAmong(recovered, api, reading.message))
      ? { kind: 'redriven' }
      : { kind: 'refused', reason: 'not recovered' };
  });
}

async function isAmong(
  { since, until, status }: Recovered,
  api: ApiClient,
  ended: EndedDelivery,
): Promise<boolean> {
  if (status !== undefined && ended.status !== status) return false;
  try {
    const { view } = await showMessage(api, ended.queue, ended.messageId);
    const acceptedAt = Date.parse(view.acceptedAt);
    return acceptedAt >= Date.parse(since) && acceptedAt < Date.parse(until);
  } catch (error) {
    if (error instanceof ApiRefusal && error.code === 'not_found') return false;
    throw error;
  }
}
