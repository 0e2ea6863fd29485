import type { DeliveryKey } from './delivery/delivery.ts';
import type { SubscriptionEvent } from './subscription/subscription.ts';

/** What an operator, or a program of theirs, wants to be told of. Ids and counts only. Times are milliseconds since the epoch. */
export type OperatorEvent =
  | (SubscriptionEvent & { queue: string; subscriptionId: string })
  | { type: 'delivery.exhausted'; key: DeliveryKey; attempts: number; at: number };
