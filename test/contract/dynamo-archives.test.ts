import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import {
  dynamoPullSubscriptions,
  dynamoRegistry,
} from '../../shared/adapters/dynamodb/subscriptions/subscription-registry.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { deployment } from '../support/deployment.ts';
import { interruptedClient, privateTables } from '../support/dynamo-clients.ts';
import { describeArchivesContract } from './archives.contract.ts';

const { documents, dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
const clock = { sleep: () => Promise.resolve(), now: () => SOME_TIME };
const table = await tables.like(endpoints.subscriptionsTable);
afterAll(tables.deleteAll);

const UNTIL = SOME_TIME + 1000;
const always = () => true;
const registry = dynamoRegistry(documents, table, clock);

describeArchivesContract('in DynamoDB', () => registry);

/** More than a page of each direction. */
const COUNT = 40;

const aFullQueue = async () => {
  const queue = aQueue({ name: randomUUID(), createdAt: 1 });
  await registry.putQueue(queue);
  const subscriptions = Array.from({ length: COUNT }, (_, index) => {
    const id = `s-${String(index).padStart(2, '0')}`;
    const subscriber = index === 0 ? 'pull:one' : `https://hooks.example/${index}`;
    return aSubscription({ queue: queue.name, id, subscriber, secrets: [{ sealed: id }] });
  });
  await registry.addSubscriptions(subscriptions);
  return { queue, subscriptions, ids: subscriptions.map(({ id }) => id) };
};

/** A registry whose write number `at` fails: it and all later ones are not made. */
const crashingAt = (at: number) => {
  let writes = 0;
  const client = interruptedClient(endpoints, (command) => {
    if (/^(?:Put|Update|Delete|TransactWrite)/.test(command)) writes += 1;
    return writes < at ? Promise.resolve() : Promise.reject(new Error('crashed'));
  });
  return { registry: dynamoRegistry(client, table, clock), hasCrashed: () => writes >= at };
};

const idsIn = async (queue: string) =>
  (await registry.listSubscriptions(queue, { limit: 100 })).items.map(({ id }) => id);

/** Runs `step` with each of its writes failing in turn, and `check` after each. Returns how many writes it has. */
const atEachWrite = async (
  step: (registry: ReturnType<typeof dynamoRegistry>, queue: string) => Promise<unknown>,
  check: (full: Awaited<ReturnType<typeof aFullQueue>>, at: number) => Promise<void>,
  prepare: (queue: string) => Promise<unknown> = () => Promise.resolve(),
): Promise<number> => {
  for (let at = 1; ; at += 1) {
    const full = await aFullQueue();
    await prepare(full.queue.name);
    const crashing = crashingAt(at);
    await step(crashing.registry, full.queue.name).catch(() => undefined);
    await check(full, at);
    if (!crashing.hasCrashed()) return at - 1;
  }
};

const deletion = async (from: typeof registry, queue: string) => {
  await from.deleteQueue(queue, SOME_TIME, UNTIL);
  await from.removeDeletedQueue(queue, always);
};

const restoration = async (from: typeof registry, queue: string) => {
  await from.restoreQueue(queue, SOME_TIME);
  await from.completeRestoredQueue(queue, always);
};

describe('a crash at any write', () => {
  it('of the deletion of a queue leaves the queue or an archive that brings all of it back', async () => {
    const writes = await atEachWrite(deletion, async ({ queue, ids }, at) => {
      const isLeft = (await registry.findQueue(queue.name)) !== undefined;
      expect(isLeft, `write ${at}`).toBe(at === 1);
      if (!isLeft) await restoration(registry, queue.name);
      expect(await registry.findQueue(queue.name)).toMatchObject(queue);
      expect(await idsIn(queue.name), `write ${at}`).toEqual(ids);
    });
    // The queue, two pages of subscriptions, and the item of the queue.
    expect(writes).toBe(4);
  });

  it('of the restoration of a queue leaves one that the next restoration completes', async () => {
    const writes = await atEachWrite(
      restoration,
      async ({ queue, ids }, at) => {
        await restoration(registry, queue.name);
        expect(await registry.findQueue(queue.name)).toMatchObject(queue);
        expect(await idsIn(queue.name), `write ${at}`).toEqual(ids);
      },
      (queue) => deletion(registry, queue),
    );
    expect(writes).toBe(4);
  });

  it('of the restoration of a queue leaves one that can be deleted and restored again', async () => {
    await atEachWrite(
      restoration,
      async ({ queue, ids }, at) => {
        await deletion(registry, queue.name);
        await restoration(registry, queue.name);
        expect(await idsIn(queue.name), `write ${at}`).toEqual(ids);
      },
      (queue) => deletion(registry, queue),
    );
  });
});

it('restores a queue whose subscriptions are still being moved to the archive', async () => {
  const { queue, ids } = await aFullQueue();
  await registry.deleteQueue(queue.name, SOME_TIME, UNTIL);
  expect(await registry.removeDeletedQueue(queue.name, () => false)).toBe(false);
  const removal = registry.removeDeletedQueue(queue.name, always);
  await Promise.all([removal, restoration(registry, queue.name)]);
  expect(await idsIn(queue.name)).toEqual(ids);
  expect(await registry.completeRestoredQueue(queue.name, always)).toBe(true);
});

it('archives a queue with the pause that is written while it is deleted', async () => {
  const { queue } = await aFullQueue();
  const pauses = [{ from: SOME_TIME, version: SOME_TIME - 1 }];
  let isPaused = false;
  const client = interruptedClient(endpoints, async (command) => {
    if (command !== 'TransactWriteItemsCommand' || isPaused) return;
    isPaused = true;
    await registry.changeQueue(queue.name, (current) => ({ ...current, pauses }));
  });
  await deletion(dynamoRegistry(client, table, clock), queue.name);
  await restoration(registry, queue.name);
  // An operation from before the deletion leaves the pause to the one of the restoration.
  const paused = { ...queue, pauses: [{ from: SOME_TIME, version: SOME_TIME }] };
  expect([isPaused, await registry.findQueue(queue.name)]).toMatchObject([true, paused]);
});

it('restores a queue once for two callers at once', async () => {
  const { queue, ids } = await aFullQueue();
  await deletion(registry, queue.name);
  await Promise.all([1, 2].map(() => restoration(registry, queue.name)));
  expect(await idsIn(queue.name)).toEqual(ids);
});

it('leaves a subscription deleted or restored, whichever of two callers is last', async () => {
  const { queue } = await aFullQueue();
  const target = { queue: queue.name, subscriptionId: 's-01', now: SOME_TIME };
  await registry.markDeleted(target, UNTIL);
  await Promise.all([registry.restoreSubscription(target), registry.markDeleted(target, UNTIL)]);
  const left = await registry.findSubscription(queue.name, 's-01');
  const isArchived = (await registry.findArchivedSubscription(target)) !== undefined;
  expect(isArchived).toBe(left?.deletedAt !== undefined);
});

it('keeps archives out of all listings and indexes, and lists a restored pull subscription again', async () => {
  const { queue } = await aFullQueue();
  const pulls = async () =>
    (await dynamoPullSubscriptions(documents, table).after()).filter((one) => one.queue === queue.name);
  expect(await pulls()).toHaveLength(1);
  await registry.markDeleted({ queue: queue.name, subscriptionId: 's-01', now: SOME_TIME }, UNTIL);
  await deletion(registry, queue.name);
  expect(await pulls()).toEqual([]);
  expect((await registry.listQueues({ limit: 100 }, queue.name)).items).toEqual([]);
  await restoration(registry, queue.name);
  expect(await pulls()).toHaveLength(1);
});

it('gives archives an end by TTL that is a day later than their own', async () => {
  const { queue } = await aFullQueue();
  await registry.markDeleted({ queue: queue.name, subscriptionId: 's-01', now: SOME_TIME }, UNTIL);
  const { Item } = await documents.get({
    TableName: table,
    Key: { pk: `ARCHIVE#${queue.name}`, sk: 'SUB#s-01' },
  });
  expect(Item).toMatchObject({ ttl: Math.ceil(UNTIL / 1000) + 24 * 60 * 60, restorableUntil: UNTIL });
});
