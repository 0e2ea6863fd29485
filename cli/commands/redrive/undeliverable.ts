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
 * Has the deliveries of undeliverable notices retried, each under the ids that it had. Safe to repeat: one that was reopened
 * and whose notice is still there is open or has had more attempts, and its notice is settled by that.
 * @throws Problem or ApiRefusal when the API does not answer, or not to us.
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

/** Why nothing is left to do about a notice. One of a later round has a notice of its own. */
function settledBy(
  { status, attempts }: Pick<DeliveryView, 'status' | 'attempts'>,
  { attemptCount }: EndedDelivery,
): string | undefined {
  if (status === 'delivered' || status === 'cancelled') return status;
  if (isOpen(status)) return 'under_way';
  return attempts.length > attemptCount ? 'ended_again' : undefined;
}
