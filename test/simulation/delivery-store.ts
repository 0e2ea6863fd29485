import {
  applyToChunk,
  type Chunk,
  chunkHolds,
  type ChunkTransition,
} from '../../shared/domain/delivery/chunk.ts';
import { claimFor } from '../../shared/domain/delivery/claim.ts';
import {
  apply,
  type ChunkKey,
  type Delivery,
  type DeliveryKey,
  holds,
  type Transition,
} from '../../shared/domain/delivery/delivery.ts';
import { isReceivable } from '../../shared/domain/delivery/pull.ts';
import { type OverdueDelivery, recordDelivered } from '../../shared/domain/delivery/transitions.ts';
import type { Chunks, Deliveries, DeliveryListings, WriteResult } from '../../shared/ports/deliveries.ts';
import { inMemoryDeliveryListings } from '../support/in-memory/in-memory-deliveries.ts';
import type { VirtualClock } from '../support/in-memory/virtual-clock.ts';
import type { Faults } from './faults.ts';
import { type Actor, deliveryName, type Grant, type History } from './history.ts';
import { MINUTE } from './scenario.ts';
import { deliveryIn } from '../../shared/domain/delivery/chunk.ts';

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

/** The access of the chunk store to separate delivery records. */
type SeparateRecords = {
  has(delivery: Delivery): boolean;
  create(actor: Actor, delivery: Delivery, by: 'cancel' | 'send'): void;
  /** Counts one more match of the delivery's message, if that is possible. */
  countMatch(delivery: Delivery): boolean;
  /** Stores the state of a member without a separate record. */
  setMember(delivery: Delivery): void;
  /** Logs a chunk write for such a member as if it had been written to a separate record. */
  note(actor: Actor, transition: Transition, before: Delivery | undefined, after: Delivery): void;
};

/** The chunk records, using the domain's `chunkHolds` and `applyToChunk`. Expired records disappear at once. */
const chunkStore = (time: VirtualClock, records: SeparateRecords): ((actor: Actor) => Chunks) => {
  const chunks = new Map<string, Chunk>();

  const find = (key: ChunkKey): Chunk | undefined => {
    const chunk = chunks.get(nameOf(key));
    return chunk !== undefined && chunk.expiresAt > time.now() ? chunk : undefined;
  };

  const write = (actor: Actor, transition: ChunkTransition): Chunk | undefined => {
    const before = find(transition.key);
    if (!chunkHolds(transition.expect, before)) return undefined;
    const after = applyToChunk(transition, before);
    chunks.set(nameOf(transition.key), after);
    for (const id of after.members?.keys() ?? []) noteMember(actor, id, before, after);
    return after;
  };

  const noteMember = (actor: Actor, id: string, before: Chunk | undefined, after: Chunk): void => {
    const was = before && deliveryIn(before, id);
    const is = deliveryIn(after, id);
    if (is === undefined || records.has(is)) return;
    records.setMember(is);
    if (was === undefined) records.note(actor, openingOf(is), undefined, is);
    else if (is.status !== was.status) records.note(actor, recordingOf(was, is, actor), was, is);
  };

  return (actor) => ({
    write: (transition) => {
      const chunk = write(actor, transition);
      return Promise.resolve(
        chunk === undefined ? { kind: 'refused', current: find(transition.key) } : { kind: 'written', chunk },
      );
    },
    find: (key) => Promise.resolve(find(key)),
    takeOut: (transition, delivery) => {
      if (records.has(delivery) || write(actor, transition) === undefined) return Promise.resolve('refused');
      records.create(actor, delivery, 'cancel');
      return Promise.resolve('taken_out');
    },
    add: (delivery, exclusion) => {
      const isFree = exclusion === undefined || chunkHolds(exclusion.expect, find(exclusion.key));
      if (records.has(delivery) || !isFree || !records.countMatch(delivery))
        return Promise.resolve('refused');
      if (exclusion !== undefined) write(actor, exclusion);
      records.create(actor, delivery, 'send');
      return Promise.resolve('added');
    },
  });
};

const nameOf = ({ messageId, bucket, chunk }: ChunkKey): string => `${messageId}/${bucket}/${chunk}`;

const openingOf = ({ key, acceptedAt, lease, updatedAt, expiresAt }: Delivery): Transition =>
  claimFor(
    {
      kind: 'job',
      key,
      attempt: 1,
      acceptedAt,
      body: { kind: 'stored', payloadKey: '' },
    },
    lease === undefined ? { kind: 'cancel', reason: 'manual' } : { kind: 'attempt', lease },
    { now: updatedAt, retentionMs: expiresAt - updatedAt },
  );

const recordingOf = (was: Delivery, is: Delivery, { owner }: Actor): Transition => {
  const attempt = is.attempts.at(-1);
  if (attempt === undefined) throw new RangeError('A chunk records nothing but attempts.');
  const at = { now: is.updatedAt, retentionMs: is.expiresAt - is.updatedAt };
  return recordDelivered({ delivery: was, owner, attempt }, at);
};
