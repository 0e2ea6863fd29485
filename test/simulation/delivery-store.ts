import {
  apply,
  holds,
  type Delivery,
  type DeliveryKey,
  type Transition,
} from '../../shared/domain/delivery/delivery.ts';
import { isReceivable } from '../../shared/domain/delivery/pull.ts';
import type { Chunks, Deliveries, DeliveryListings, WriteResult } from '../../shared/ports/deliveries.ts';
import type { OverdueDelivery } from '../../shared/domain/delivery/transitions.ts';
import { inMemoryDeliveryListings } from '../support/in-memory/in-memory-delivery-listings.ts';
import { chunkStore } from './chunk-store.ts';
import type { Faults } from './faults.ts';
import { deliveryName, type Actor, type Grant, type History } from './history.ts';
import { MINUTE } from './scenario.ts';
import type { VirtualClock } from '../support/in-memory/virtual-clock.ts';

export type DeliveryStore = {
  /** The port for one actor. */
  portFor(actor: Actor): Deliveries;
  chunksFor(actor: Actor): Chunks;
  listings: DeliveryListings;
  find(name: string): Delivery | undefined;
  all(): Iterable<[string, Delivery]>;
  /** The actor's right to make one request for a delivery, from its last claim. */
  grantOf(owner: string, delivery: string): Grant | undefined;
  /** The earliest key in the overdue index: for reconcile, or for the consumers of pull subscriptions. */
  earliest(of: 'overdue' | 'waiting'): number | undefined;
  /** Calls back after each change of the index. */
  onIndexed(callback: () => void): void;
};

/** An index key. `isWaiting`: in the part of the index of its subscription. */
type IndexKey = { overdueAt: number; isWaiting: boolean };

type Indexed = {
  key: DeliveryKey;
  now: IndexKey | undefined;
  visibleAt: number;
  before: IndexKey | undefined;
};

/** The delivery records, using the domain's `holds` and `apply`. Expired records disappear at once. */
export const deliveryStore = (world: {
  time: VirtualClock;
  faults: Faults;
  history: History;
  /** Counts one more match of a delivery's message. */
  countMatch: (delivery: Delivery) => boolean;
}): DeliveryStore => {
  const { time, faults, history } = world;
  const records = new Map<string, Delivery>();
  /** Deliveries that only their chunk records. */
  const inChunks = new Map<string, Delivery>();
  const index = new Map<string, Indexed>();
  const grants = new Map<string, Grant>();
  let writes = 0;
  let indexed = (): void => undefined;

  const find = (name: string): Delivery | undefined => {
    const record = records.get(name);
    if (record === undefined || record.expiresAt > time.now()) return record;
    records.delete(name);
    index.delete(name);
    return undefined;
  };

  const write = (actor: Actor, transition: Transition): WriteResult => {
    const name = deliveryName(transition.key);
    const before = find(name);
    if (!holds(transition.expect, before)) return { kind: 'refused', current: before };
    const after = resultOf(transition, before);
    if (after === undefined) return { kind: 'refused', current: before };
    records.set(name, after);
    if (before?.overdueAt !== after.overdueAt || (before && isReceivable(before)) !== isReceivable(after))
      reindex(name, after);
    note(actor, transition, inChunks.get(name) ?? before, after);
    inChunks.delete(name);
    return { kind: 'written', delivery: after };
  };

  const note = (
    actor: Actor,
    transition: Transition,
    before: Delivery | undefined,
    after: Delivery,
  ): void => {
    const name = deliveryName(after.key);
    if (grantsRequest(transition)) {
      const grant = grantOf(after, time.now());
      grants.set(`${actor.owner} ${name}`, grant);
      history.grants.push({ delivery: name, actor, grant });
    }
    history.writes.push({ at: time.now(), delivery: name, transition, actor, before, after });
    history.trace?.push(
      `${time.now()} ${actor.name} wrote ${transition.name} of ${name}: ${statusOf(after)}`,
    );
  };

  const chunksFor = chunkStore(time, {
    has: ({ key }) => find(deliveryName(key)) !== undefined,
    setMember: (delivery) => void inChunks.set(deliveryName(delivery.key), delivery),
    note,
    countMatch: world.countMatch,
    create: (actor, delivery, by) => {
      const { key } = delivery;
      const name = deliveryName(key);
      records.set(name, delivery);
      if (delivery.overdueAt !== undefined) reindex(name, delivery);
      // Deliveries unknown so far were ended before they began, or sent by hand.
      if (!inChunks.delete(name))
        note(actor, { name: by, key, expect: { kind: 'absent' }, create: delivery }, undefined, delivery);
    },
  });

  const reindex = (name: string, delivery: Delivery): void => {
    writes += 1;
    const place = `index ${name} ${writes}`;
    const { key, overdueAt } = delivery;
    const now = overdueAt === undefined ? undefined : { overdueAt, isWaiting: isReceivable(delivery) };
    const lag =
      faults.strikeMessage(place, ['index_behind']) === undefined ? 0 : faults.chance(place) * 5 * MINUTE;
    index.set(name, { key, now, visibleAt: time.now() + lag, before: shown(index.get(name)) });
    indexed();
  };

  const shown = (entry: Indexed | undefined): IndexKey | undefined =>
    entry !== undefined && entry.visibleAt > time.now() ? entry.before : entry?.now;

  const due = (isWaiting: boolean, before: number): OverdueDelivery[] =>
    [...index.values()]
      .flatMap((entry) => {
        const found = shown(entry);
        return found === undefined || found.isWaiting !== isWaiting || found.overdueAt > before
          ? []
          : [{ key: entry.key, overdueAt: found.overdueAt }];
      })
      .sort((one, other) => one.overdueAt - other.overdueAt);

  return {
    portFor: (actor) => ({
      write: (transition) => Promise.resolve(write(actor, transition)),
      find: (key) => Promise.resolve(find(deliveryName(key))),
      overdue: (before, limit) => Promise.resolve(due(false, before).slice(0, limit)),
      waiting: ({ queue, subscriptionId }, before, limit) =>
        Promise.resolve(
          due(true, before)
            .filter(({ key }) => key.queue === queue && key.subscriptionId === subscriptionId)
            .slice(0, limit),
        ),
    }),
    chunksFor,
    listings: inMemoryDeliveryListings({ records }, { deliveries: () => [...inChunks.values()] }),
    find: (name) => find(name) ?? inChunks.get(name),
    all: () => [...records, ...inChunks],
    grantOf: (owner, delivery) => grants.get(`${owner} ${delivery}`),
    onIndexed: (callback) => {
      indexed = callback;
    },
    earliest: (of) => {
      let earliest: number | undefined;
      for (const { now } of index.values())
        if (now?.isWaiting === (of === 'waiting') && now.overdueAt < (earliest ?? Infinity))
          earliest = now.overdueAt;
      return earliest;
    },
  };
};

const resultOf = (transition: Transition, before: Delivery | undefined): Delivery | undefined => {
  if ('create' in transition) return transition.create;
  return before && apply(transition.change, before);
};

const CLAIMS: ReadonlySet<string> = new Set(['open', 'claim', 'take_over']);

const grantsRequest = (transition: Transition): boolean =>
  CLAIMS.has(transition.name) ||
  (transition.name === 'record' && nextOf(transition)?.by === 'same_invocation');

const nextOf = (transition: Transition): Delivery['next'] => {
  if ('create' in transition) return transition.create.next;
  return 'next' in transition.change ? transition.change.next : undefined;
};

const grantOf = ({ attempts, lease }: Delivery, now: number): Grant => ({
  at: now,
  number: attempts.length + 1,
  leaseUntil: lease?.until ?? Infinity,
});

const statusOf = ({ status, attempts, lost, lease, pendingSteps, overdueAt, next }: Delivery): string =>
  JSON.stringify({
    status,
    attempts: attempts.length,
    lost,
    lease,
    pendingSteps,
    overdueAt,
    due: next?.dueAt,
  });
