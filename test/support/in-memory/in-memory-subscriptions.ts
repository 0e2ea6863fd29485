import { isDeepStrictEqual } from 'node:util';
import { buildPage, parseMarker, QUEUE_LISTING } from '../../../shared/adapters/dynamodb/pages.ts';
import {
  type Destination,
  destinationIdentity,
  toSubscriber,
} from '../../../shared/domain/subscription/destination.ts';
import { healthChangeHolds } from '../../../shared/domain/subscription/health.ts';
import { queueMember } from '../../../shared/domain/subscription/queue-metadata.ts';
import { type Amount, measureAmount } from '../../../shared/domain/subscription/room.ts';
import { renewPause } from '../../../shared/domain/subscription/pause.ts';
import {
  type ArchivedQueue,
  type ArchivedSubscription,
  isPresent,
  planDeletion,
  type ListedSubscription,
  type Queue,
  type Subscription,
} from '../../../shared/domain/subscription/subscription.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { Page, PageRequest } from '../../../shared/ports/page.ts';
import {
  type AddResult,
  type PullSubscription,
  type PullSubscriptions,
  QueueBeingDeletedError,
  QueueFullError,
  QueueMissingError,
  type Registry,
  type SubscriptionPage,
  type Subscriptions,
} from '../../../shared/ports/subscriptions.ts';
import { answer, frozen } from './frozen.ts';
import { applyHealthChange } from './health-model.ts';

/** A queue and its subscriptions, by id. */
export type QueueEntry = { queue: Queue; subscriptions: Map<string, Subscription> };

const systemTime: Pick<Clock, 'now'> = { now: () => Date.now() };

/** The number of items in a typical DynamoDB response. */
const PAGE_SIZE = 1_400;

/** Both views of the subscriptions table over one Map. Nothing is cached: every result is fresh. */
export const inMemorySubscriptions = (
  clock = systemTime,
  pageSize: () => number = () => PAGE_SIZE,
  entries = new Map<string, QueueEntry>(),
): Subscriptions & Registry => ({
  ...readerOf(entries, clock, pageSize),
  ...queuesOf(entries, clock),
  ...subscriptionsOf(entries, clock),
});

const readerOf = (
  entries: Map<string, QueueEntry>,
  clock: Pick<Clock, 'now'>,
  pageSize: () => number,
): Subscriptions => ({
  page: (name, _freshness, after) => {
    const entry = entries.get(name);
    if (entry === undefined) return answer(undefined);
    const options = { after, size: pageSize(), readAt: clock.now() };
    return answer(pageOfSubscriptions(entry.queue, byId(entry), options));
  },
  find: (name, id) => {
    const entry = entries.get(name);
    return answer({ queue: entry?.queue, subscription: entry?.subscriptions.get(id) });
  },
  disable: (name, id, disabled, version) => {
    const subscription = entries.get(name)?.subscriptions.get(id);
    if (subscription === undefined) return answer(undefined);
    if (subscription.disabled !== undefined || subscription.version !== version)
      return answer(subscription.disabled);
    entries.get(name)?.subscriptions.set(id, frozen({ ...subscription, disabled }));
    return answer(disabled);
  },
  changeHealth: (name, id, change) => {
    const current = entries.get(name)?.subscriptions.get(id);
    if (current === undefined || !healthChangeHolds(current, change))
      return answer({ kind: 'refused', current });
    const subscription = applyHealthChange(change, current);
    entries.get(name)?.subscriptions.set(id, frozen(subscription));
    return answer({ kind: 'written', subscription });
  },
});

/** What a replacement keeps. */
const keptOf = ({ pauses, restoredAt }: Partial<Queue> = {}): Pick<Queue, 'pauses' | 'restoredAt'> => ({
  ...(pauses !== undefined && { pauses }),
  ...(restoredAt !== undefined && { restoredAt }),
});

type QueueMethods = Pick<Registry, Extract<keyof Registry, `${string}Queue` | `${string}Queues`>>;

type QueueArchive = ArchivedQueue & Pick<QueueEntry, 'subscriptions'>;

const queuesOf = (entries: Map<string, QueueEntry>, clock: Pick<Clock, 'now'>): QueueMethods => {
  const archives = new Map<string, QueueArchive>();
  const restoring = new Map<string, QueueArchive>();
  const archiveKeyOf = (name: string, deletedAt: number) => `${name}#${deletedAt}`;
  const refuseIfRestoring = (name: string): void => {
    if (restoring.has(name)) throw new QueueBeingDeletedError(name);
  };
  const restorable = (now: number) =>
    [...archives.values()]
      .filter(({ restorableUntil }) => restorableUntil > now)
      .sort((one, other) =>
        order(archiveKeyOf(one.queue.name, one.deletedAt), archiveKeyOf(other.queue.name, other.deletedAt)),
      );
  return {
    putQueue: async (queue) => {
      refuseIfRestoring(queue.name);
      const entry = entries.get(queue.name);
      const createdAt = entry?.queue.createdAt ?? queue.createdAt;
      entries.set(queue.name, {
        queue: frozen({ ...queue, createdAt, ...keptOf(entry?.queue) }),
        subscriptions: entry?.subscriptions ?? new Map<string, Subscription>(),
      });
      return answer(entry === undefined ? { kind: 'created' } : { kind: 'replaced', before: entry.queue });
    },
    changeQueue: async (name, change) => {
      const entry = entries.get(name);
      if (entry === undefined) return answer({ kind: 'missing' });
      const before = entry.queue;
      const after = frozen(change(before));
      if (isDeepStrictEqual(after, before)) return answer({ kind: 'left', current: before });
      entries.set(name, { ...entry, queue: after });
      return answer({ kind: 'changed', before, after });
    },
    ensureQueue: async (queue) => {
      refuseIfRestoring(queue.name);
      if (!entries.has(queue.name)) {
        entries.set(queue.name, { queue: frozen(queue), subscriptions: new Map() });
      }
      return answer(undefined);
    },
    findQueue: (name) => answer(entries.get(name)?.queue),
    listQueues: (page, part = '') =>
      pageFor(
        QUEUE_LISTING,
        [...entries.values()]
          .map(({ queue }) => queue)
          .filter(({ name }) => name.includes(part))
          .sort((one, other) => order(one.name, other.name)),
        page,
        ({ name }) => name,
      ),
    countQueues: (part = '') => answer([...entries.keys()].filter((name) => name.includes(part)).length),
    deleteQueue: (name, now, restorableUntil) => {
      restoring.delete(name);
      const entry = entries.get(name);
      entries.delete(name);
      if (entry === undefined) return answer(undefined);
      if (restorableUntil === undefined) return answer({ restorableUntil });
      const subscriptions = new Map([...entry.subscriptions].filter(([, one]) => isPresent(one, now)));
      const archive = { queue: entry.queue, subscriptions, deletedAt: now, restorableUntil };
      archives.set(archiveKeyOf(name, now), archive);
      return answer({ restorableUntil });
    },
    removeDeletedQueue: () => answer(true),
    listArchivedQueues: async (page, now) => {
      const archivePage = await pageFor('#archived_queues', restorable(now), page, ({ queue, deletedAt }) =>
        archiveKeyOf(queue.name, deletedAt),
      );
      return {
        ...archivePage,
        items: archivePage.items.map(({ queue, deletedAt, restorableUntil }) => ({
          queue,
          deletedAt,
          restorableUntil,
        })),
      };
    },
    restoreQueue: (name, now, until = Infinity) => {
      const archive = restorable(now).findLast((one) => one.queue.name === name && one.deletedAt <= until);
      if (archive === undefined) return answer('missing');
      if (entries.has(name)) return answer('exists');
      if (!restoring.has(name)) restoring.set(name, archive);
      return answer('restoring');
    },
    completeRestoredQueue: (name) => {
      const archive = restoring.get(name);
      if (archive === undefined) return answer(true);
      const { queue, subscriptions, deletedAt } = archive;
      const restored = [...subscriptions.values()].map((one) => restoredFrom(one, deletedAt, clock.now()));
      entries.set(name, {
        queue: frozen({ ...renewPause(queue, clock.now()), restoredAt: clock.now() }),
        subscriptions: new Map(restored.map((one) => [one.id, one])),
      });
      archives.delete(archiveKeyOf(name, deletedAt));
      restoring.delete(name);
      return answer(true);
    },
  };
};

const restoredFrom = (before: Subscription, deletedAt: number, at: number): Subscription => {
  const { failing: _failing, ...subscription } = before;
  return frozen({ ...renewPause(subscription, at), restored: { deletedAt, at } });
};

type SubscriptionMethods = Omit<Registry, keyof QueueMethods>;

const subscriptionsOf = (
  entries: Map<string, QueueEntry>,
  clock: Pick<Clock, 'now'>,
): SubscriptionMethods => {
  const archives = new Map<string, ArchivedSubscription>();
  const archiveKeyOf = (queue: string, id: string) => `${queue}/${id}`;
  const isRestorable = (archive: ArchivedSubscription | undefined, now: number) =>
    archive !== undefined && archive.restorableUntil > now && isPresent(archive.subscription, now);
  return {
    takeRoom: (queue, more, most) => {
      const entry = entries.get(queue);
      return answer(entry === undefined || hasRoom(measureAmount(byId(entry)), more, most));
    },
    addSubscriptions: async (subscriptions, bounds) => {
      const name = subscriptions[0]?.queue ?? '';
      const entry = entries.get(name);
      if (bounds !== undefined) {
        if (entry?.queue.createdAt !== bounds.createdAt) throw new QueueMissingError(name);
        const present = byId(entry).filter((one) => isPresent(one, clock.now()));
        if (present.length + subscriptions.length > bounds.most) throw new QueueFullError(name, bounds.most);
      }
      return addAll(entries, subscriptions);
    },
    findByDestinations: (queue, destinations) =>
      answer(destinations.map((destination) => holderOf(entries.get(queue), destination))),
    findSubscription: (queue, id) => answer(entries.get(queue)?.subscriptions.get(id)),
    listSubscriptions: (queue, page, match = '') => {
      const entry = entries.get(queue);
      const found = (entry === undefined ? [] : byId(entry)).filter(
        ({ id, name, destination }) =>
          id.startsWith(match) || name?.includes(match) === true || toSubscriber(destination).includes(match),
      );
      return pageFor(queue, found, page, ({ id }) => id);
    },
    changeSubscription: async ({ queue, subscriptionId, now }, change) => {
      const entry = entries.get(queue);
      const before = entry?.subscriptions.get(subscriptionId);
      if (entry === undefined || before === undefined || before.deletedAt !== undefined)
        return answer({ kind: 'missing' });
      const after = frozen(change(before)) ?? before;
      if (isDeepStrictEqual(after, before)) return answer({ kind: 'left', current: before });
      const holder = byId(entry).find(
        (other) => other.id !== after.id && holdsSubscriberOf(after, other, now),
      );
      if (holder !== undefined) return answer({ kind: 'conflict', subscriptionId: holder.id });
      entry.subscriptions.set(subscriptionId, after);
      return answer({ kind: 'changed', before, after });
    },
    markDeleted: ({ queue, subscriptionId, now }, restorableUntil) => {
      const subscription = entries.get(queue)?.subscriptions.get(subscriptionId);
      if (subscription === undefined || subscription.deletedAt !== undefined) return answer(subscription);
      const deletion = planDeletion(subscription, now, restorableUntil);
      if (deletion) archives.set(archiveKeyOf(queue, subscriptionId), { subscription, ...deletion });
      const marked = frozen({ ...subscription, deletedAt: now, ...deletion });
      entries.get(queue)?.subscriptions.set(subscriptionId, marked);
      return answer(marked);
    },
    removeMarked: (queue, id) => {
      const subscriptions = entries.get(queue)?.subscriptions;
      if (subscriptions?.get(id)?.deletedAt !== undefined) subscriptions.delete(id);
      return answer(undefined);
    },
    listArchivedSubscriptions: (queue, page, now) =>
      pageFor(
        `#archived#${queue}`,
        [...archives.values()]
          .filter((one) => one.subscription.queue === queue && one.restorableUntil > now)
          .sort((one, other) => order(one.subscription.id, other.subscription.id)),
        page,
        ({ subscription }) => subscription.id,
      ),
    findArchivedSubscription: ({ queue, subscriptionId, now }) => {
      const archive = archives.get(archiveKeyOf(queue, subscriptionId));
      return answer(isRestorable(archive, now) ? archive : undefined);
    },
    restoreSubscription: async ({ queue, subscriptionId, now }) => {
      const archive = archives.get(archiveKeyOf(queue, subscriptionId));
      if (archive === undefined || !isRestorable(archive, now)) return answer({ kind: 'missing' });
      const entry = entries.get(queue);
      if (entry === undefined) throw new QueueMissingError(queue);
      const subscription = restoredFrom(archive.subscription, archive.deletedAt, now);
      const holder = byId(entry).find((other) => holdsSubscriberOf(subscription, other, now));
      if (holder !== undefined) return answer({ kind: 'conflict', subscriptionId: holder.id });
      entry.subscriptions.set(subscriptionId, subscription);
      archives.delete(archiveKeyOf(queue, subscriptionId));
      return answer({ kind: 'restored', subscription });
    },
  };
};

/** Only an increase is checked: a queue beyond its limit may still change its subscriptions. */
const hasRoom = (current: Amount, more: Amount, limit: Amount): boolean =>
  (more.subscriptions === 0 || current.subscriptions + more.subscriptions <= limit.subscriptions) &&
  (more.bytes === 0 || current.bytes + more.bytes <= limit.bytes);

const addAll = async (
  entries: Map<string, QueueEntry>,
  subscriptions: readonly Subscription[],
): Promise<AddResult[]> => {
  const missing = subscriptions.find(({ queue }) => !entries.has(queue));
  if (missing !== undefined) throw new QueueMissingError(missing.queue);
  return answer(subscriptions.map((subscription) => add(entries.get(subscription.queue), subscription)));
};

const add = (entry: QueueEntry | undefined, subscription: Subscription): AddResult => {
  const holder =
    entry && byId(entry).find((other) => holdsSubscriberOf(subscription, other, subscription.createdAt));
  if (holder !== undefined) return { kind: 'conflict', subscriptionId: holder.id };
  entry?.subscriptions.set(subscription.id, frozen(subscription));
  return { kind: 'added' };
};

/** Of several expired subscriptions and a successor, the latest holds the subscriber. */
const holderOf = (entry: QueueEntry | undefined, destination: Destination): Subscription | undefined =>
  (entry === undefined ? [] : byId(entry))
    .filter(({ deletedAt }) => deletedAt === undefined)
    .filter((other) => destinationIdentity(other.destination) === destinationIdentity(destination))
    .sort((one, other) => one.createdAt - other.createdAt)
    .at(-1);

const holdsSubscriberOf = (wanted: Subscription, other: Subscription, now: number): boolean =>
  destinationIdentity(other.destination) === destinationIdentity(wanted.destination) && isPresent(other, now);

const byId = ({ subscriptions }: QueueEntry): Subscription[] =>
  [...subscriptions.values()].sort((one, other) => order(one.id, other.id));

const order = (one: string, other: string): number => (one < other ? -1 : 1);

const pageFor = async <T>(
  listing: string,
  sorted: readonly T[],
  page: PageRequest,
  nameOf: (item: T) => string,
): Promise<Page<T>> => {
  const last = parseMarker(listing, page);
  const after = last === undefined ? sorted : sorted.filter((item) => nameOf(item) > last);
  return await answer(buildPage(listing, after, page.limit, nameOf));
};

/** A page of at most `size` subscriptions of a queue, sorted by id, with only the fields that a page contains. */
const pageOfSubscriptions = (
  queue: Queue,
  sorted: readonly Subscription[],
  { after = '', size, readAt }: { after?: string | undefined; size: number; readAt: number },
): SubscriptionPage => {
  const rest = sorted.filter(({ id }) => id > after);
  const subscriptions = rest.slice(0, size).map(listed);
  const lastSubscriptionId = rest.length > size ? subscriptions.at(-1)?.id : undefined;
  return {
    queueCreatedAt: queue.createdAt,
    retainMessages: queueMember('_retain_messages', queue.metadata),
    eventValidation: queueMember('_event_validation', queue.metadata),
    retentionDays: queueMember('_retention_days', queue.metadata),
    subscriptions,
    readAt,
    ...(lastSubscriptionId === undefined ? {} : { lastSubscriptionId }),
  };
};

/** The fields of a subscription that a page contains. */
export const listed = ({ id, createdAt, options, ...rest }: Subscription): ListedSubscription => ({
  id,
  createdAt,
  ...only(rest, [
    'confirmedAt',
    'unconfirmed',
    'deletedAt',
    'expiresAt',
    'failing',
    'previousSelection',
    'restored',
  ]),
  options: only(options, ['event_types', 'filter']),
});

const only = <Of extends object, Name extends keyof Of>(of: Of, names: readonly Name[]): Pick<Of, Name> =>
  Object.fromEntries(Object.entries(of).filter(([name]) => names.some((wanted) => wanted === name))) as Pick<
    Of,
    Name
  >;

const ALL = { limit: 100_000 };

const placeOf = ({ queue, subscriptionId }: PullSubscription): string => `${queue}#${subscriptionId}`;

/** The pull subscriptions of a registry, `pageSize` at a time. */
export const inMemoryPullSubscriptions = (
  registry: Pick<Registry, 'listQueues' | 'listSubscriptions'>,
  pageSize = 1000,
): PullSubscriptions => ({
  after: async (last) => {
    const queues = await registry.listQueues(ALL);
    const pages = await Promise.all(queues.items.map(({ name }) => registry.listSubscriptions(name, ALL)));
    return pages
      .flatMap(({ items }) => items)
      .filter(({ destination }) => destination.kind === 'pull')
      .map(({ queue, id, expiresAt }) => ({
        queue,
        subscriptionId: id,
        ...(expiresAt === undefined ? {} : { expiresAt }),
      }))
      .toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1))
      .filter((one) => last === undefined || placeOf(one) > placeOf(last))
      .slice(0, pageSize);
  },
});
