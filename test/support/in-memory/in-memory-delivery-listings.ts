import {
  type Direction,
  lastOf,
  listingOf,
  pageOf,
  pageUpTo,
  startPlaceOf,
  orderIn,
} from '../../../shared/adapters/dynamodb/pages.ts';
import { notDeliveredSortOf, isListed } from '../../../shared/adapters/dynamodb/delivery-keys.ts';
import { placeInMessage } from '../../../shared/adapters/dynamodb/delivery-listings.ts';
import { NO_DELIVERIES } from '../../../shared/domain/delivery/books.ts';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { bucketsOf, type FanOut } from '../../../shared/domain/delivery/fan-out.ts';
import type { DeliveryListings, DeliverySelection } from '../../../shared/ports/deliveries.ts';
import type { Page, PageRequest } from '../../../shared/ports/page.ts';
import type { InMemoryChunks } from './in-memory-chunks.ts';
import type { InMemoryDeliveries } from './in-memory-deliveries.ts';

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
    newest: (selection, request) => answer(() => listed('descending', selection, request)),
    oldest: (selection, request) => answer(() => listed('ascending', selection, request)),
    records: (keys) =>
      answer(() => {
        const wanted = new Set(keys.map(identityOf));
        const deliveries = [...records.values()].filter(({ key }) => wanted.has(identityOf(key)));
        return { deliveries, unreadable: [] };
      }),
    ofMessage: (message, request) => answer(() => pageOfMessage(message, request)),
    tally: (message, buckets) =>
      answer(() => {
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

const identityOf = ({ queue, messageId, subscriptionId }: Delivery['key']): string =>
  [queue, messageId, subscriptionId].join('#');

/** Asynchronous like the real adapter, and a copy, so that a caller cannot change a record through a result. */
const answer = async <T>(read: () => T): Promise<T> => {
  await Promise.resolve();
  return structuredClone(read());
};
