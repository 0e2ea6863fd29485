import type { DeliveryKey } from './delivery.ts';
import type { SubscriptionEvent } from '../subscription/subscription.ts';
import type { Outcome } from '../retry/vocabulary.ts';

/** Event for operators and their programs. Ids and counts only. Times are milliseconds since the epoch. */
export type OperatorEvent =
  | (SubscriptionEvent & { queue: string; subscriptionId: string })
  /** Deliveries wait for the end of a pause; from `cancelledFrom` on they are cancelled. `since`: when it began. */
  | {
      type: 'deliveries.expiring';
      queue: string;
      subscriptionId?: string;
      since: number;
      cancelledFrom: number;
    }
  | { type: 'delivery.exhausted'; key: DeliveryKey; attempts: number; at: number }
  | FailedAttempt;

/** `attempt`: its number. `at`: when it ended. `nextAt`: of the retry, if there is one. */
type FailedAttempt = {
  type: 'attempt.failed';
  key: DeliveryKey;
  attempt: number;
  outcome: Exclude<Outcome, 'delivered'>;
  statusCode?: number;
  error?: string;
  at: number;
  nextAt?: number;
};
