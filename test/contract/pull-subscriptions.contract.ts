import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { PullSubscription, PullSubscriptions, Registry } from '../../shared/ports/subscriptions.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';

type UnderTest = { registry: Registry; pullSubscriptions: PullSubscriptions };

/** Contract of the listing of pull subscriptions, which covers all queues. */
export const describePullSubscriptionsContract = (name: string, make: () => UnderTest): void => {
  /** Those of a queue, read page by page. */
  const ofQueue = async ({ pullSubscriptions }: UnderTest, queue: string): Promise<PullSubscription[]> => {
    const all: PullSubscription[] = [];
    for (
      let page = await pullSubscriptions.after();
      page.length > 0;
      page = await pullSubscriptions.after(page.at(-1))
    )
      all.push(...page);
    return all.filter((one) => one.queue === queue);
  };

  describe(`pull subscriptions ${name}`, () => {
    it('are listed by queue and id with their expiry, until they are removed, and without those that are called', async () => {
      const world = make();
      const { registry } = world;
      const queue = `pulls-${randomUUID()}`;
      await registry.putQueue(aQueue({ name: queue }));
      const add = (id: string, subscriber: string, expiresAt?: number) =>
        registry.addSubscription(
          aSubscription({ queue, id, subscriber, ...(expiresAt !== undefined && { ttl: 60, expiresAt }) }),
        );
      await add('s-2', 'pull:two');
      await add('s-1', 'pull:one', SOME_TIME);
      await add('s-3', 'https://called.test/');
      expect(await ofQueue(world, queue)).toEqual([
        { queue, subscriptionId: 's-1', expiresAt: SOME_TIME },
        { queue, subscriptionId: 's-2' },
      ]);
      expect((await registry.listQueues({ limit: 100 })).items.map((one) => one.name)).not.toContain(
        `${queue}#s-1`,
      );
      await registry.markDeleted({ queue, subscriptionId: 's-2', now: SOME_TIME });
      await registry.removeMarked(queue, 's-2');
      expect(await ofQueue(world, queue)).toEqual([{ queue, subscriptionId: 's-1', expiresAt: SOME_TIME }]);
    });
  });
};
