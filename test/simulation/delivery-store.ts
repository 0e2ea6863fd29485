import { type Chunk, type ChunkTransition, deliveryIn } from '../../shared/domain/delivery/chunk.ts';
import { claimFor } from '../../shared/domain/delivery/claim.ts';
import type { Delivery, DeliveryKey, Transition } from '../../shared/domain/delivery/delivery.ts';
import { findWaitingPlace, type WaitingPlace } from '../../shared/domain/delivery/paused.ts';
import { isReceivable } from '../../shared/domain/delivery/pull.ts';
import { type OverdueDelivery, recordDelivered } from '../../shared/domain/delivery/transitions.ts';
import type { ChunkResult, Chunks, Deliveries, WriteResult } from '../../shared/ports/deliveries.ts';
import {
  inMemoryChunks,
  inMemoryDeliveries,
  inMemoryDeliveryListings,
} from '../support/in-memory/in-memory-deliveries.ts';
import type { VirtualClock } from '../support/in-memory/virtual-clock.ts';
import type { Faults } from './faults.ts';
import { type Actor, deliveryName, type Grant, type History } from './history.ts';
import { MINUTE, QUEUE } from './scenario.ts';
import type { MessageRecords } from '../../shared/ports/messages.ts';
import { inMemoryMessageRecords, inMemoryPayloads } from '../support/in-memory/in-memory-messages.ts';

export type MessageStore = ReturnType<typeof messageStore>;

/** The message records, which disappear when they expire, and the payload bucket. */
export const messageStore = (time: VirtualClock, history: History) => {
  const records = inMemoryMessageRecords(time);
  const payloads = inMemoryPayloads();
  const find = (messageId: string) => records.findNow({ queue: QUEUE, messageId });
  return {
    /** The current record. */
    find,
    /** Counts one more match, unless the message is still being sent. */
    countMatch: records.countMatch,
    /** The objects in the bucket, by key. */
    objects: payloads.stored,
    recordsFor: (actor: Actor): MessageRecords => ({
      ...records,
      accept: async (offered, sentAt) => {
        const result = await records.accept(offered, sentAt);
        if (result.kind === 'accepted')
          history.acceptances.push({ at: time.now(), actor, record: result.record });
        return result;
      },
      eraseBody: (key, at) => {
        const { messageId } = key;
        const known = find(messageId);
        if (known !== undefined && known.erasedAt === undefined)
          history.erasures.push({ at: time.now(), messageId, acceptedAt: known.acceptedAt });
        return records.eraseBody(key, at);
      },
    }),
    payloads,
  };
};

export type DeliveryStore = ReturnType<typeof deliveryStore>;

/** An index key. `place`: the part of the index where it waits; undefined: that of reconcile. */
type IndexKey = { overdueAt: number; place: string | undefined };

/**
 * The delivery records with their history. A delivery in a chunk has one as if it had a separate record. The index may
 * lag behind.
 */
export const deliveryStore = (world: {
  time: VirtualClock;
  faults: Faults;
  history: History;
  messages: Pick<MessageStore, 'countMatch'>;
}) => {
  const { time, faults, history } = world;
  const records = inMemoryDeliveries(time);
  const chunks = inMemoryChunks(records, world.messages, time);
  /** Deliveries that only their chunk records. */
  const inChunks = new Map<string, Delivery>();
  /** What the index shows until then, where it is behind. */
  const behind = new Map<string, { shown: IndexKey | undefined; until: number }>();
  const grants = new Map<string, Grant>();
  let indexings = 0;
  let indexed = (): void => undefined;

  const write = (actor: Actor, transition: Transition): WriteResult => {
    const name = deliveryName(transition.key);
    const before = records.findNow(transition.key);
    const result = records.writeNow(transition);
    if (result.kind === 'refused') return result;
    reindex(name, before, result.delivery);
    note(actor, transition, inChunks.get(name) ?? before, result.delivery);
    inChunks.delete(name);
    return result;
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

  const reindex = (name: string, before: Delivery | undefined, after: Delivery): void => {
    const [was, is] = [indexKeyOf(before), indexKeyOf(after)];
    if (was?.overdueAt === is?.overdueAt && was?.place === is?.place) return;
    indexings += 1;
    const place = `index ${name} ${indexings}`;
    const isBehind = faults.strikeMessage(place, ['index_behind']) !== undefined;
    const until = isBehind ? time.now() + faults.chance(place) * 5 * MINUTE : 0;
    behind.set(name, { shown: shown(name, was), until });
    indexed();
  };

  const shown = (name: string, now: IndexKey | undefined): IndexKey | undefined => {
    const lagging = behind.get(name);
    return lagging !== undefined && lagging.until > time.now() ? lagging.shown : now;
  };

  const present = (): Delivery[] => [...records.records.values()].filter((one) => one.expiresAt > time.now());

  const due = (place: string | undefined, before: number): OverdueDelivery[] =>
    present()
      .flatMap((delivery) => {
        const found = shown(deliveryName(delivery.key), indexKeyOf(delivery));
        return found === undefined || found.place !== place || found.overdueAt > before
          ? []
          : [{ key: delivery.key, overdueAt: found.overdueAt }];
      })
      .sort((one, other) => one.overdueAt - other.overdueAt);

  const writeChunk = (actor: Actor, transition: ChunkTransition): ChunkResult => {
    const before = chunks.findNow(transition.key);
    const result = chunks.writeNow(transition);
    if (result.kind === 'refused') return result;
    for (const id of result.chunk.members?.keys() ?? []) noteMember(actor, id, before, result.chunk);
    return result;
  };

  const noteMember = (actor: Actor, id: string, before: Chunk | undefined, after: Chunk): void => {
    const was = before && deliveryIn(before, id);
    const is = deliveryIn(after, id);
    if (is === undefined || records.findNow(is.key) !== undefined) return;
    inChunks.set(deliveryName(is.key), is);
    if (was === undefined) note(actor, openingOf(is), undefined, is);
    else if (is.status !== was.status) note(actor, recordingOf(was, is, actor), was, is);
  };

  /** A delivery has a separate record from now on. One unknown so far was ended before it began, or sent by hand. */
  const separated = (actor: Actor, create: Delivery, by: 'cancel' | 'send'): void => {
    const { key } = create;
    reindex(deliveryName(key), undefined, create);
    if (!inChunks.delete(deliveryName(key)))
      note(actor, { name: by, key, expect: { kind: 'absent' }, create }, undefined, create);
  };

  return {
    /** The port for one actor. */
    portFor: (actor: Actor): Deliveries => ({
      ...records,
      write: (transition) => Promise.resolve(write(actor, transition)),
      overdue: (before, limit) => Promise.resolve(due(undefined, before).slice(0, limit)),
      waiting: (place, before, limit) => Promise.resolve(due(nameOf(place), before).slice(0, limit)),
    }),
    chunksFor: (actor: Actor): Chunks => ({
      ...chunks,
      write: (transition) => Promise.resolve(writeChunk(actor, transition)),
      takeOut: async (transition, delivery) => {
        const result = await chunks.takeOut(transition, delivery);
        if (result === 'taken_out') separated(actor, delivery, 'cancel');
        return result;
      },
      add: async (delivery, exclusion) => {
        const result = await chunks.add(delivery, exclusion);
        if (result === 'added') separated(actor, delivery, 'send');
        return result;
      },
    }),
    listings: inMemoryDeliveryListings(records, chunks),
    find: (key: DeliveryKey) => records.findNow(key) ?? inChunks.get(deliveryName(key)),
    /** The actor's right to make one request for a delivery, from its last claim. */
    grantOf: (owner: string, delivery: string) => grants.get(`${owner} ${delivery}`),
    /** Calls back after each change of the index. */
    onIndexed: (callback: () => void): void => {
      indexed = callback;
    },
    /** The earliest key in the overdue index: for reconcile, or for the consumers of pull subscriptions. */
    earliest: (of: 'overdue' | 'waiting') => {
      let earliest: number | undefined;
      // Called after each write, so it builds no lists.
      for (const one of records.records.values())
        if (
          one.overdueAt !== undefined &&
          one.overdueAt < (earliest ?? Infinity) &&
          one.expiresAt > time.now() &&
          (of === 'waiting' ? isReceivable(one) : findWaitingPlace(one.key, one) === undefined)
        )
          earliest = one.overdueAt;
      return earliest;
    },
  };
};

const indexKeyOf = (delivery: Delivery | undefined): IndexKey | undefined => {
  if (delivery?.overdueAt === undefined) return undefined;
  const place = findWaitingPlace(delivery.key, delivery);
  return { overdueAt: delivery.overdueAt, place: place && nameOf(place) };
};

const nameOf = ({ queue, subscriptionId = '' }: WaitingPlace): string => `${queue}#${subscriptionId}`;

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
