import { isListed, notDeliveredSortOf } from '../../../shared/adapters/dynamodb/delivery-keys.ts';
import { placeInMessage } from '../../../shared/adapters/dynamodb/delivery-listings.ts';
import {
  type Direction,
  lastOf,
  listingOf,
  orderIn,
  pageOf,
  pageUpTo,
  startPlaceOf,
} from '../../../shared/adapters/dynamodb/pages.ts';
import { NO_DELIVERIES } from '../../../shared/domain/delivery/books.ts';
import {
  applyToChunk,
  type Chunk,
  chunkHolds,
  type ChunkTransition,
} from '../../../shared/domain/delivery/chunk.ts';
import {
  apply,
  type ChunkKey,
  type Delivery,
  type DeliveryKey,
  holds,
  type Transition,
} from '../../../shared/domain/delivery/delivery.ts';
import { bucketsOf, type FanOut } from '../../../shared/domain/delivery/fan-out.ts';
import { isReceivable } from '../../../shared/domain/delivery/pull.ts';
import type { OverdueDelivery } from '../../../shared/domain/delivery/transitions.ts';
import type {
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

/** `records` is for the listings, which read the same store. */
type InMemoryDeliveries = Deliveries & {
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

/** `deliveries`: those that have no separate record. */
type InMemoryChunks = Chunks & { readonly deliveries: () => Delivery[] };

/** Chunk records in a Map, checked by the domain's `chunkHolds` and `applyToChunk`. */
export const inMemoryChunks = (
  own: InMemoryDeliveries,
  messages: Pick<InMemoryMessageRecords, 'countMatch'> = inMemoryMessageRecords(),
): InMemoryChunks => {
  const chunks = new Map<string, Chunk>();

  const write: Chunks['write'] = (transition) => {
    const current = chunks.get(nameOf(transition.key));
    if (!chunkHolds(transition.expect, current)) return Promise.resolve({ kind: 'refused', current });
    return Promise.resolve({ kind: 'written', chunk: kept(transition, current) });
  };

  const kept = (transition: ChunkTransition, current: Chunk | undefined): Chunk => {
    const chunk = applyToChunk(transition, current);
    chunks.set(nameOf(transition.key), chunk);
    return chunk;
  };

  const takeOut: Chunks['takeOut'] = async (transition, delivery) => {
    const current = chunks.get(nameOf(transition.key));
    if (!chunkHolds(transition.expect, current)) return 'refused';
    const { key } = delivery;
    if (own.records.has(own.identityOf(key))) return 'refused';
    kept(transition, current);
    await own.write({ name: 'open', key, expect: { kind: 'absent' }, create: delivery });
    return 'taken_out';
  };

  const add: Chunks['add'] = async (delivery, exclusion) => {
    const { key } = delivery;
    if (own.records.has(own.identityOf(key))) return 'refused';
    const current = exclusion && chunks.get(nameOf(exclusion.key));
    if (exclusion !== undefined && !chunkHolds(exclusion.expect, current)) return 'refused';
    if (!messages.countMatch(delivery)) return 'refused';
    if (exclusion !== undefined) kept(exclusion, current);
    await own.write({ name: 'send', key, expect: { kind: 'absent' }, create: delivery });
    return 'added';
  };

  return {
    write,
    takeOut,
    add,
    find: (key) => Promise.resolve(chunks.get(nameOf(key))),
    deliveries: () =>
      [...chunks.values()]
        .flatMap((chunk) => [...(chunk.members?.keys() ?? [])].flatMap((id) => deliveryIn(chunk, id) ?? []))
        .filter(({ key }) => !own.records.has(own.identityOf(key))),
  };
};

const nameOf = ({ queue, messageId, bucket, chunk }: ChunkKey): string =>
  [queue, messageId, bucket, chunk].join('#');

/** Listings of the current delivery and chunk records. */
export const inMemoryDeliveryListings = (
  { records }: Pick<InMemoryDeliveries, 'records'>,
  chunks?: Pick<InMemoryChunks, 'deliveries'>,
): DeliveryListings => {
  const listed = (direction: Direction, selection: DeliverySelection, request: PageRequest) => {
    const listing = listingOf(`deliveries ${direction}`, selection);
    const after = startPlaceOf(listing, request);
    const isBefore = orderIn(direction);
    const placed = [...records.values()]
      .filter((delivery) => isSelected(selection, delivery))
      .map((delivery) => ({ delivery, place: notDeliveredSortOf(delivery.key, delivery.acceptedAt) }))
      .filter(({ place }) => after === undefined || isBefore(after, place))
      .sort((one, other) => (isBefore(one.place, other.place) ? -1 : 1));
    const page = placed.slice(0, request.limit);
    const items = page.map(({ delivery: { key, acceptedAt, status } }) => ({ key, acceptedAt, status }));
    return pageUpTo(listing, items, placed.length > page.length ? page.at(-1)?.place : undefined);
  };

  const ofMessage = ({ key: message, ...rest }: FanOut, { first, end } = bucketsOf(rest)): Delivery[] =>
    [...records.values(), ...(chunks?.deliveries() ?? [])].filter(
      ({ key }) =>
        key.queue === message.queue &&
        key.messageId === message.messageId &&
        key.bucket >= first &&
        key.bucket < end,
    );

  const pageOfMessage = (message: FanOut, request: PageRequest): Page<Delivery> => {
    const listing = listingOf('message', message.key);
    const sorted = ofMessage(message).sort(inMessage);
    const last = lastOf(listing, request);
    const start = last === undefined ? 0 : 1 + sorted.findIndex((one) => placeInMessage(one) === last);
    return pageOf(listing, sorted.slice(start), request.limit, placeInMessage);
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
    tally: (message, buckets) =>
      answerLater(() => {
        const counts = { ...NO_DELIVERIES };
        for (const { status } of ofMessage(message, buckets)) counts[status] += 1;
        return counts;
      }),
  };
};

const isSelected = (
  { queue, subscriptionId, status, since = -Infinity, until = Infinity }: DeliverySelection,
  { key, acceptedAt, ...delivery }: Delivery,
): boolean =>
  isListed(delivery) &&
  key.queue === queue &&
  [undefined, key.subscriptionId].includes(subscriptionId) &&
  [undefined, delivery.status].some((one) => one === status) &&
  acceptedAt >= since &&
  acceptedAt < until;

const inMessage = ({ key: one }: Delivery, { key: other }: Delivery): number =>
  one.bucket - other.bucket || (one.subscriptionId < other.subscriptionId ? -1 : 1);

const nameInMessage = ({ queue, messageId, subscriptionId }: Delivery['key']): string =>
  [queue, messageId, subscriptionId].join('#');

/** Asynchronous like the real adapter. */
const answerLater = async <T>(read: () => T): Promise<T> => {
  await Promise.resolve();
  return frozen(read());
};
