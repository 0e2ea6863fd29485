import type { DeliveryKey } from './delivery/delivery.ts';
import type { SubscriptionEvent } from './subscription/subscription.ts';

/** Event for operators and their programs. Ids and counts only. Times are milliseconds since the epoch. */
export type OperatorEvent =
  | (SubscriptionEvent & { queue: string; subscriptionId: string })
  | { type: 'delivery.exhausted'; key: DeliveryKey; attempts: number; at: number };
