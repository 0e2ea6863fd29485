import { isListed, toNotDeliveredSort } from '../../../shared/adapters/dynamodb/deliveries/delivery-keys.ts';
import { placeInMessage } from '../../../shared/adapters/dynamodb/deliveries/delivery-listings.ts';
import {
  buildPage,
  type Direction,
  nameListing,
  orderIn,
  pageUpTo,
  parseMarker,
  parseStartPlace,
} from '../../../shared/adapters/dynamodb/pages.ts';
import { NO_DELIVERIES } from '../../../shared/domain/delivery/books.ts';
import { type Chunk, type ChunkTransition } from '../../../shared/domain/delivery/chunk.ts';
import {
  apply,
  type ChunkKey,
  type Delivery,
  type DeliveryKey,
  holds,
  type Transition,
} from '../../../shared/domain/delivery/delivery.ts';
import { type FanOut, toBucketRange } from '../../../shared/domain/delivery/fan-out.ts';
import { findWaitingPlace, type WaitingPlace } from '../../../shared/domain/delivery/paused.ts';
import type { OverdueDelivery } from '../../../shared/domain/delivery/transitions.ts';
import type {
  ChunkResult,
  Chunks,
  Deliveries,
  DeliveryListings,
  DeliverySelection,
  WriteResult,
} from '../../../shared/ports/deliveries.ts';
import type { Page, PageRequest } from '../../../shared/ports/page.ts';
import { answer, frozen } from './frozen.ts';
import { inMemoryMessageRecords, type InMemoryMessageRecords } from './in-memory-messages.ts';
import { deliveryIn } from '../../../shared/domain/delivery/chunk.ts';
import { applyToChunk, chunkHolds } from './chunk-model.ts';

/** `records` is for the listings, which read the same store. */
type InMemoryDeliveries = Deliveries & {
  readonly records: ReadonlyMap<string, Delivery>;
  readonly writeNow: (transition: Transition) => WriteResult;
  readonly findNow: (key: DeliveryKey) => Delivery | undefined;
};

/** Delivery records in a Map, checked by the domain's `holds` and `apply`. They expire only by a clock. */
export const inMemoryDeliveries = (clock = { now: () => -Infinity }): InMemoryDeliveries => {
  const records = new Map<string, Delivery>();

  const findNow = (key: DeliveryKey): Delivery | undefined => {
    const record = records.get(identityOf(key));
    if (record === undefined || record.expiresAt > clock.now()) return record;
    records.delete(identityOf(key));
    return undefined;
  };

  const writeNow = (transition: Transition): WriteResult => {
    const id = identityOf(transition.key);
    const current = findNow(transition.key);
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
    writeNow,
    findNow,
    write: (transition) => answer(writeNow(transition)),
    find: (key) => answer(findNow(key)),
    overdue: (before, limit) =>
      answer(
        dueFirst(
          [...records.values()].filter((one) => findWaitingPlace(one.key, one) === undefined),
          before,
        ).slice(0, limit),
      ),
    waiting: (place, before, limit) =>
      answer(
        dueFirst(
          [...records.values()].filter((one) => waitsIn(one, place)),
          before,
        ).slice(0, limit),
      ),
  };
};

const waitsIn = (one: Delivery, { queue, subscriptionId }: WaitingPlace): boolean => {
  const place = findWaitingPlace(one.key, one);
  return place?.queue === queue && place.subscriptionId === subscriptionId;
};

const dueFirst = (deliveries: readonly Delivery[], before: number): OverdueDelivery[] =>
  deliveries
    .flatMap(overdueOf)
    .filter(({ overdueAt }) => overdueAt <= before)
    .sort((one, other) => one.overdueAt - other.overdueAt);

const identityOf = ({ queue, messageId, bucket, subscriptionId }: DeliveryKey): string =>
  `${queue}#${messageId}#${bucket}#${subscriptionId}`;

const overdueOf = ({ key, overdueAt }: Delivery): OverdueDelivery[] =>
  overdueAt === undefined ? [] : [{ key, overdueAt }];

/** `deliveries`: those that have no separate record. */
type InMemoryChunks = Chunks & {
  readonly deliveries: () => Delivery[];
  readonly writeNow: (transition: ChunkTransition) => ChunkResult;
  readonly findNow: (key: ChunkKey) => Chunk | undefined;
};

/** Chunk records in a Map, checked by the domain's `chunkHolds` and `applyToChunk`. They expire only by a clock. */
export const inMemoryChunks = (
  own: InMemoryDeliveries,
  messages: Pick<InMemoryMessageRecords, 'countMatch'> = inMemoryMessageRecords(),
  clock = { now: () => -Infinity },
): InMemoryChunks => {
  const chunks = new Map<string, Chunk>();

  const findNow = (key: ChunkKey): Chunk | undefined => {
    const chunk = chunks.get(nameOf(key));
    return chunk !== undefined && chunk.expiresAt > clock.now() ? chunk : undefined;
  };

  const writeNow = (transition: ChunkTransition): ChunkResult => {
    const current = findNow(transition.key);
    if (!chunkHolds(transition.expect, current)) return { kind: 'refused', current };
    return { kind: 'written', chunk: kept(transition, current) };
  };

  const kept = (transition: ChunkTransition, current: Chunk | undefined): Chunk => {
    const chunk = applyToChunk(transition, current);
    chunks.set(nameOf(transition.key), chunk);
    return chunk;
  };

  const takeOut: Chunks['takeOut'] = (transition, delivery) => {
    const { key } = delivery;
    if (own.findNow(key) !== undefined || writeNow(transition).kind === 'refused') return answer('refused');
    own.writeNow({ name: 'open', key, expect: { kind: 'absent' }, create: delivery });
    return answer('taken_out');
  };

  const add: Chunks['add'] = (delivery, exclusion) => {
    const { key } = delivery;
    const isFree = exclusion === undefined || chunkHolds(exclusion.expect, findNow(exclusion.key));
    if (own.findNow(key) !== undefined || !isFree || !messages.countMatch(delivery)) return answer('refused');
    if (exclusion !== undefined) writeNow(exclusion);
    own.writeNow({ name: 'send', key, expect: { kind: 'absent' }, create: delivery });
    return answer('added');
  };

  return {
    writeNow,
    findNow,
    write: (transition) => Promise.resolve(writeNow(transition)),
    takeOut,
    add,
    find: (key) => Promise.resolve(findNow(key)),
    deliveries: () =>
      [...chunks.values()]
        .flatMap((chunk) => [...(chunk.members?.keys() ?? [])].flatMap((id) => deliveryIn(chunk, id) ?? []))
        .filter(({ key }) => own.findNow(key) === undefined),
  };
};

const nameOf = ({ queue, messageId, bucket, chunk }: ChunkKey): string =>
  `${queue}#${messageId}#${bucket}#${chunk}`;

/** Listings of the current delivery and chunk records. */
export const inMemoryDeliveryListings = (
  { records }: Pick<InMemoryDeliveries, 'records'>,
  chunks?: Pick<InMemoryChunks, 'deliveries'>,
): DeliveryListings => {
  const listed = (direction: Direction, selection: DeliverySelection, request: PageRequest) => {
    const listing = nameListing(`deliveries ${direction}`, selection);
    const after = parseStartPlace(listing, request);
    const isBefore = orderIn(direction);
    const placed = [...records.values()]
      .filter((delivery) => isSelected(selection, delivery))
      .map((delivery) => ({ delivery, place: toNotDeliveredSort(delivery.key, delivery.acceptedAt) }))
      .filter(({ place }) => after === undefined || isBefore(after, place))
      .sort((one, other) => (isBefore(one.place, other.place) ? -1 : 1));
    const page = placed.slice(0, request.limit);
    const items = page.map(({ delivery: { key, acceptedAt, status } }) => ({ key, acceptedAt, status }));
    return pageUpTo(listing, items, placed.length > page.length ? page.at(-1)?.place : undefined);
  };

  const ofMessage = ({ key: message, ...rest }: FanOut, { first, end } = toBucketRange(rest)): Delivery[] =>
    [...records.values(), ...(chunks?.deliveries() ?? [])].filter(
      ({ key }) =>
        key.queue === message.queue &&
        key.messageId === message.messageId &&
        key.bucket >= first &&
        key.bucket < end,
    );

  const pageOfMessage = (message: FanOut, request: PageRequest): Page<Delivery> => {
    const listing = nameListing('message', message.key);
    const sorted = ofMessage(message).sort(inMessage);
    const last = parseMarker(listing, request);
    const start = last === undefined ? 0 : 1 + sorted.findIndex((one) => placeInMessage(one) === last);
    return buildPage(listing, sorted.slice(start), request.limit, placeInMessage);
  };

  return {
    newest: (selection, request) => answerLater(() => listed('descending', selection, request)),
    oldest: (selection, request) => answerLater(() => listed('ascending', selection, request)),
    records: (keys) =>
      answerLater(() => {
        const wanted = new Set(keys.map(nameInMessage));
        const deliveries = [...records.values()].filter(({ key }) => wanted.has(nameInMessage(key)));
        return { deliveries, unreadable: [] };
      }),
    ofMessage: (message, request) => answerLater(() => pageOfMessage(message, request)),
    countWaiting: (places, matches, most) =>
      answerLater(() => {
        const waiting = [...records.values()].filter((one) => places.some((place) => waitsIn(one, place)));
        const found = dueFirst(waiting, Infinity).filter(({ key }) => matches(key));
        const [oldest] = found;
        return {
          count: Math.min(found.length, most),
          hasMore: waiting.length > most,
          ...(oldest && { oldest }),
        };
      }),
    tally: (message, buckets) =>
      answerLater(() => {
        const counts = { ...NO_DELIVERIES };
        for (const { status } of ofMessage(message, buckets)) counts[status] += 1;
        return counts;
      }),
  };
};

const isSelected = (asked: DeliverySelection, delivery: Delivery): boolean =>
  isAmong(asked, delivery) && isWithin(asked, delivery) && isListed(delivery);

const isAmong = (
  { queue, subscriptionId, status }: DeliverySelection,
  { key, status: is }: Delivery,
): boolean =>
  key.queue === queue &&
  key.subscriptionId === (subscriptionId ?? key.subscriptionId) &&
  is === (status ?? is);

const isWithin = (
  { since = -Infinity, until = Infinity }: DeliverySelection,
  { acceptedAt }: Delivery,
): boolean => acceptedAt >= since && acceptedAt < until;

const inMessage = ({ key: one }: Delivery, { key: other }: Delivery): number =>
  one.bucket - other.bucket || (one.subscriptionId < other.subscriptionId ? -1 : 1);

const nameInMessage = ({ queue, messageId, subscriptionId }: Delivery['key']): string =>
  `${queue}#${messageId}#${subscriptionId}`;

/** Asynchronous like the real adapter. */
const answerLater = async <T>(read: () => T): Promise<T> => {
  await Promise.resolve();
  return frozen(read());
};
