import type { DeliveryView } from '../shared/wire/views/delivery.ts';
import type { ApiClient } from './api-client.ts';
import { deliveryPath } from './deliveries.ts';
import { getDelivery, testSubscription } from './operations.ts';
import { isNotFound, orElse } from './refusal.ts';

/** Long enough for most attempts. */
const MAX_POLLS = 20;
const PAUSE_MS = 1_000;

/**
 * Sends a test message and returns its delivery after the first attempt, if that ends in time: the API itself waits for
 * three seconds only. `body` is JSON source text.
 */
export async function sendTest(
  api: ApiClient,
  path: { queue: string; subscription: string },
  body: string,
): Promise<DeliveryView> {
  let { delivery } = await api.call(testSubscription, { path, body });
  for (let look = 0; look < MAX_POLLS && isUntried(delivery); look += 1) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    // A delivery has no record before its first attempt.
    delivery = await api.call(getDelivery, deliveryPath(delivery)).catch(orElse(isNotFound, delivery));
  }
  return delivery;
}

/** False for a pull subscription, whose subscriber decides when it is tried. */
function isUntried({ status, attempts, nextAttempt }: DeliveryView): boolean {
  return status === 'pending' && attempts.length === 0 && nextAttempt?.waiting !== 'pull';
}
