import type { PullSubscription, PullSubscriptions, Registry } from '../../../shared/ports/subscriptions.ts';

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
