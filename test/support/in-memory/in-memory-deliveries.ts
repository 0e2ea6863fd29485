import {
  apply,
  type Delivery,
  type DeliveryKey,
  holds,
  type Transition,
} from '../../../shared/domain/delivery/delivery.ts';
import { isReceivable } from '../../../shared/domain/delivery/pull.ts';
import type { OverdueDelivery } from '../../../shared/domain/delivery/transitions.ts';
import type { Deliveries, WriteResult } from '../../../shared/ports/deliveries.ts';
import { answer, frozen } from './frozen.ts';

/** `records` is for the listings, which read the same store. */
export type InMemoryDeliveries = Deliveries & {
  readonly records: ReadonlyMap<string, Delivery>;
  readonly identityOf: (key: DeliveryKey) => string;
};

/** Delivery records in a Map, checked by the domain's `holds` and `apply`. */
export const inMemoryDeliveries = (): InMemoryDeliveries => {
  const records = new Map<string, Delivery>();

  const writeNow = (transition: Transition): WriteResult => {
    const id = identityOf(transition.key);
    const current = records.get(id);
    if (!('change' in transition)) {
      if (current !== undefined) return { kind: 'refused', current };
      return { kind: 'written', delivery: kept(id, transition.create) };
    }
    if (current === undefined || !holds(transition.expect, current)) return { kind: 'refused', current };
    return { kind: 'written', delivery: kept(id, apply(transition.change, current)) };
  };

  const kept = (id: string, delivery: Delivery): Delivery => {
    records.set(id, frozen(delivery));
    return delivery;
  };

  return {
    records,
    identityOf,
    write: (transition) => answer(writeNow(transition)),
    find: (key) => answer(records.get(identityOf(key))),
    overdue: (before, limit) =>
      answer(
        dueFirst(
          [...records.values()].filter((one) => !isReceivable(one)),
          before,
        ).slice(0, limit),
      ),
    waiting: ({ queue, subscriptionId }, before, limit) =>
      answer(
        dueFirst(
          [...records.values()].filter(
            (one) =>
              isReceivable(one) && one.key.queue === queue && one.key.subscriptionId === subscriptionId,
          ),
          before,
        ).slice(0, limit),
      ),
  };
};

const dueFirst = (deliveries: readonly Delivery[], before: number): OverdueDelivery[] =>
  deliveries
    .flatMap(overdueOf)
    .filter(({ overdueAt }) => overdueAt <= before)
    .sort((one, other) => one.overdueAt - other.overdueAt);

const identityOf = ({ queue, messageId, bucket, subscriptionId }: DeliveryKey): string =>
  [queue, messageId, bucket, subscriptionId].join('#');

const overdueOf = ({ key, overdueAt }: Delivery): OverdueDelivery[] =>
  overdueAt === undefined ? [] : [{ key, overdueAt }];
