import type { Delivery, DeliveryKey, Transition } from '../domain/delivery.ts';

/** `refused`: the condition did not hold; `current` is the record that refused it, undefined where there is none. */
export type WriteResult =
  { kind: 'written'; delivery: Delivery } | { kind: 'refused'; current: Delivery | undefined };

export type OverdueDelivery = { key: DeliveryKey; overdueAt: number };

/** The records of deliveries: one conditional write at a time, the record itself the answer of a lost race. */
export interface Deliveries {
  write(transition: Transition): Promise<WriteResult>;
  /** Strongly consistent. */
  find(key: DeliveryKey): Promise<Delivery | undefined>;
  /** Retrying or owing something, `overdueAt` ≤ before, the oldest first within each shard; at most `limit`. */
  overdue(before: number, limit: number): Promise<readonly OverdueDelivery[]>;
}
