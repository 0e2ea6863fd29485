import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { aDelivery, anAttempt, SOME_TIME } from '../../support/delivery-builders.ts';
import { anExhausted, operateWorld, ORDERED_AT } from '../../support/in-memory/operate-world.ts';
import { describe, expect, it } from 'vitest';

/** How a call fails: before its effect, after it (the answer is lost), or because the function dies there and then. */
type Failure = 'before' | 'after' | 'killed';

type Port = Record<string, (...given: never[]) => unknown>;

/**
 * Ports whose k-th call, counted over all of them, fails. `killed`: so do all that follow, until the next invocation.
 * `calls` says how many there were.
 */
const failingPorts = <Ports extends Record<string, object>>(
  ports: Ports,
  { at, how, spared }: { at: number; how: Failure; spared: readonly (keyof Ports)[] },
) => {
  let calls = 0;
  let isDead = false;

  const failing =
    (method: (...given: unknown[]) => unknown) =>
    async (...given: unknown[]): Promise<unknown> => {
      calls += 1;
      const isHit = calls === at;
      if (isHit && how === 'killed') isDead = true;
      if (isDead || (isHit && how === 'before')) throw new Error(`call ${calls} failed`);
      const result = await method(...given);
      if (isHit) throw new Error(`the answer of call ${calls} was lost`);
      return result;
    };

  const wrapped = (port: object): object =>
    new Proxy(port, {
      get: (target, name) => {
        const method = (target as Port)[String(name)];
        return typeof method === 'function' ? failing(method.bind(target) as never) : method;
      },
    });

  const faulty = Object.fromEntries(
    Object.entries(ports).map(([name, port]) => [name, spared.includes(name) ? port : wrapped(port)]),
  ) as Ports;

  return {
    ports: faulty,
    calls: () => calls,
    /** The next invocation begins. */
    revive: () => {
      isDead = false;
    },
  };
};

/** More than a page of a recovery, of which it is about every seventh. */
const LISTED = 53;
const CONCERNED = 8;

const FAILURES: Failure[] = ['before', 'after', 'killed'];

type World = ReturnType<typeof operateWorld>;

/** Works the queue off with the k-th call failing. True: there was a k-th call. */
const workedWith = async (world: World, at: number, how: Failure): Promise<boolean> => {
  const { ports, settings } = world;
  const failing = failingPorts(ports, { at, how, spared: ['clock', 'journal'] });
  for (let receives = 0; world.ordered.length > 0; receives += 1) {
    if (receives > 30) throw new Error(`the orders never end with call ${at} failing (${how})`);
    failing.revive();
    await world.workOnce({ ports: failing.ports, settings });
  }
  return failing.calls() >= at;
};

/** Each k in turn, until a run has less than k calls. */
const forEveryCall = async (check: (at: number) => Promise<boolean>): Promise<number> => {
  let at = 1;
  while (await check(at)) at += 1;
  return at - 1;
};

const kept = async (all: readonly Delivery[]): Promise<World> => {
  const world = operateWorld();
  for (const delivery of all) await world.keep(delivery);
  return world;
};

const failedLater = anAttempt({ startedAt: ORDERED_AT, durationMs: 1 });

const exhausted = Array.from({ length: LISTED }, (_, index) =>
  anExhausted(
    { messageId: `m-${index}` },
    { acceptedAt: SOME_TIME + index, ...(index % 7 > 0 && { attempts: [failedLater] }) },
  ),
);

const retrying = Array.from({ length: 12 }, (_, index) =>
  aDelivery({
    key: { queue: 'orders', messageId: `m-${index}`, subscriptionId: 's-1', bucket: 0 },
    status: 'retrying',
    next: { number: 2, phase: 'backoff', dueAt: SOME_TIME * 2, by: 'scheduler' },
    overdueAt: SOME_TIME * 2,
  }),
);

describe.each(FAILURES)('whichever call of an operation fails (%s)', (how) => {
  it('a recovery gives each delivery one round and a wake-up, and counts each once', async () => {
    const calls = await forEveryCall(async (at) => {
      const world = await kept(exhausted);
      const recovery = await world.order();
      const isHit = await workedWith(world, at, how);
      const rounds = await Promise.all(exhausted.map(async ({ key }) => (await world.record(key)).round));
      expect(rounds, `call ${at}`).toEqual(exhausted.map((_, index) => (index % 7 > 0 ? 1 : 2)));
      expect(new Set(world.woken.map(({ key }) => key.messageId)).size, `call ${at}`).toBe(CONCERNED);
      expect(await recovery.found(), `call ${at}`).toMatchObject({
        state: 'completed',
        found: CONCERNED,
        reopened: CONCERNED,
        skipped: {},
        batch: [],
        deferred: [],
      });
      return isHit;
    });
    expect(calls).toBeGreaterThan(5 * CONCERNED);
  });

  it('a cancellation ends every delivery and removes the subscription', async () => {
    const calls = await forEveryCall(async (at) => {
      const world = await kept(retrying);
      const { registry, operations } = world.ports;
      await registry.markDeleted({ queue: 'orders', subscriptionId: 's-1', now: ORDERED_AT });
      await operations.send({
        kind: 'cancellation',
        queue: 'orders',
        subscriptionId: 's-1',
        deletedAt: ORDERED_AT,
      });
      const isHit = await workedWith(world, at, how);
      for (const { key } of retrying) {
        expect(await world.record(key), `call ${at}`).toMatchObject({ status: 'cancelled' });
      }
      expect(await registry.findSubscription('orders', 's-1'), `call ${at}`).toBeUndefined();
      return isHit;
    });
    expect(calls).toBeGreaterThan(3 * retrying.length);
  });
});
