import { inParallel } from '../../../shared/adapters/in-parallel.ts';
import type { RedriveOutcome } from '../../../shared/domain/delivery/dead-letter.ts';
import { isOpen } from '../../../shared/domain/delivery/delivery.ts';
import type { DeliveryView } from '../../../shared/wire/views/delivery.ts';
import type { EndedDelivery } from '../../../shared/wire/jobs/dead-letter.ts';
import type { ApiClient } from '../../api/api-request.ts';
import { ApiRefusal } from '../../api/api-refusal.ts';
import { retryDelivery, showDelivery } from '../../api/deliveries.ts';

const SIDE_BY_SIDE = 8;

/**
 * Retries the deliveries of undeliverable notices, with their ids. Safe to repeat: a delivery that was already reopened
 * is open or has more attempts than its notice says, so the notice is settled.
 * @throws Problem or ApiRefusal when the API does not respond or denies access
 */
export function retryUndeliverable(
  api: ApiClient,
  ended: readonly EndedDelivery[],
): Promise<RedriveOutcome[]> {
  return inParallel(ended, SIDE_BY_SIDE, (one) => retryOne(api, one));
}

async function retryOne(api: ApiClient, ended: EndedDelivery): Promise<RedriveOutcome> {
  try {
    const settled = settledBy(await showDelivery(api, ended), ended);
    if (settled !== undefined) return { kind: 'settled', reason: settled };
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

/** The reason why a notice is settled; undefined if it is not. A delivery that ended again has a newer notice. */
function settledBy(
  { status, attempts }: Pick<DeliveryView, 'status' | 'attempts'>,
  { attemptCount }: EndedDelivery,
): string | undefined {
  if (status === 'delivered' || status === 'cancelled') return status;
  if (isOpen(status)) return 'under_way';
  return attempts.length > attemptCount ? 'ended_again' : undefined;
}
