import { deliveryQuery } from '../../../../api-client/deliveries.ts';
import { listDeliveries, type ListedDelivery } from '../../../../api-client/operations.ts';
import {
  RECOVERABLE_STATUSES,
  type RecoverableStatus,
} from '../../../../shared/domain/delivery/vocabulary.ts';
import type { PageClient } from '../../api/page-client.ts';

/** Which deliveries a recovery reopens. Times are milliseconds since the epoch. */
export type Selection = {
  queue: string;
  since: number;
  until: number;
  subscription?: string;
  status?: RecoverableStatus;
};

/** A limit for each status, because counting reads every record. */
export const MAX_COUNTED = 1000;

export type FailedCount = { by: Readonly<Record<RecoverableStatus, number>>; more: boolean };

/** Counts the deliveries that a recovery would reopen now. Without a status it excludes manually cancelled ones. */
export async function countFailed(
  api: PageClient,
  { queue, status, ...selection }: Selection,
): Promise<FailedCount> {
  const by = { rejected: 0, exhausted: 0, cancelled: 0 };
  let more = false;
  for (const one of status === undefined ? RECOVERABLE_STATUSES : [status]) {
    const query = deliveryQuery({ ...selection, status: one });
    for await (const delivery of api.list(listDeliveries, { path: { queue }, query })) {
      if (by[one] === MAX_COUNTED) {
        more = true;
        break;
      }
      if (status !== undefined || !isManuallyCancelled(delivery)) by[one] += 1;
    }
  }
  return { by, more };
}

function isManuallyCancelled({ status, reason }: ListedDelivery): boolean {
  return status === 'cancelled' && reason === 'manual';
}

export function sumOf({ by }: FailedCount): number {
  return by.rejected + by.exhausted + by.cancelled;
}
