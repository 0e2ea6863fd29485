import { describe, expect, it } from 'vitest';
import { countOutcomes, sumOfOutcomes } from '../../../shared/domain/recovery/outcomes.ts';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { anAttempt, SOME_TIME } from '../../support/delivery-builders.ts';
import {
  anExhausted,
  aRetrying,
  operateWorld,
  type OperateWorld,
  REQUESTED_AT,
  SUBSCRIPTION_DELETION,
} from '../../support/in-memory/operate-world.ts';

/** How a call fails: before its effect, after it (a lost response), or because the function crashes. */
type Failure = 'before' | 'after' | 'crashed';

type Port = Record<string, (...args: never[]) => unknown>;

/**
 * Ports whose call number `at`, counted over all of them, fails. `crashed`: all later calls of the invocation fail
 * too. `calls` returns the number of calls.
 */
const failingPorts = <Ports extends Record<string, object>>(
  ports: Ports,
  { at, how, excluded }: { at: number; how: Failure; excluded: readonly (keyof Ports)[] },
) => {
  let calls = 0;
  let hasCrashed = false;

  const failing =
    (method: (...args: unknown[]) => unknown) =>
    async (...args: unknown[]): Promise<unknown> => {
      calls += 1;
      const isHit = calls === at;
      if (isHit && how === 'crashed') hasCrashed = true;
      if (hasCrashed || (isHit && how === 'before')) throw new Error(`call ${calls} failed`);
      const result = await method(...args);
      if (isHit) throw new Error(`the response of call ${calls} was lost`);
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
    Object.entries(ports).map(([name, port]) => [name, excluded.includes(name) ? port : wrapped(port)]),
  ) as Ports;

  return {
    ports: faulty,
    calls: () => calls,
    /** Starts the next invocation. */
    revive: () => {
      hasCrashed = false;
    },
  };
};

/** More than a page of deliveries. The recovery selects every seventh. */
const LISTED = 53;
const SELECTED = 8;

const FAILURES: Failure[] = ['before', 'after', 'crashed'];

/** Processes the queue with call number `at` failing. Returns whether there was such a call. */
const workWith = async (world: OperateWorld, at: number, how: Failure): Promise<boolean> => {
  const { ports, settings } = world;
  const failing = failingPorts(ports, { at, how, excluded: ['clock', 'journal'] });
  for (let receives = 0; world.queued.length > 0; receives += 1) {
    if (receives > 30) throw new Error(`the operations never end with call ${at} failing (${how})`);
    failing.revive();
    await world.workOnce({ ports: failing.ports, settings });
  }
  return failing.calls() >= at;
};

/** Runs `check` for every call number, until a run has fewer calls. */
const forEveryCall = async (check: (at: number) => Promise<boolean>): Promise<number> => {
  let at = 1;
  while (await check(at)) at += 1;
  return at - 1;
};

const worldWith = async (all: readonly Delivery[]): Promise<OperateWorld> => {
  const world = operateWorld();
  for (const delivery of all) await world.keep(delivery);
  return world;
};

/** The outcomes of a recovery, read from its pages and the records of the deliveries. */
const provenDeliveries = async ({ ports }: OperateWorld, id: string) => {
  const { items } = await ports.recoveries.keptPages('orders', id, { limit: 100 });
  const pages = await Promise.all(items.map(({ keys }) => ports.deliveryListings.records(keys)));
  return sumOfOutcomes(pages.flatMap(({ deliveries }) => countOutcomes(id, deliveries)));
};

const failedLater = anAttempt({ startedAt: REQUESTED_AT, durationMs: 1 });

const exhausted = Array.from({ length: LISTED }, (_, index) =>
  anExhausted(
    { messageId: `m-${index}` },
    { acceptedAt: SOME_TIME + index, ...(index % 7 > 0 && { attempts: [failedLater] }) },
  ),
);

const retrying = Array.from({ length: 12 }, (_, index) => aRetrying({ messageId: `m-${index}` }));

describe.each(FAILURES)('if any one call of an operation fails (%s)', (how) => {
  it('a recovery reopens and wakes each delivery once and counts it once', async () => {
    const calls = await forEveryCall(async (at) => {
      const world = await worldWith(exhausted);
      const recovery = await world.startRecovery();
      const isHit = await workWith(world, at, how);
      const rounds = await Promise.all(exhausted.map(async ({ key }) => (await world.record(key)).round));
      expect(rounds, `call ${at}`).toEqual(exhausted.map((_, index) => (index % 7 > 0 ? 1 : 2)));
      expect(new Set(world.woken.map(({ key }) => key.messageId)).size, `call ${at}`).toBe(SELECTED);
      expect(await recovery.found(), `call ${at}`).toMatchObject({
        state: 'completed',
        found: SELECTED,
        reopened: SELECTED,
        skipped: {},
        batch: [],
        deferred: [],
      });
      expect(await provenDeliveries(world, recovery.id), `call ${at}`).toEqual([
        expect.objectContaining({ total: SELECTED, open: SELECTED }),
      ]);
      return isHit;
    });
    expect(calls).toBeGreaterThan(5 * SELECTED);
  });

  it('a cancellation cancels every delivery and removes the subscription', async () => {
    const calls = await forEveryCall(async (at) => {
      const world = await worldWith(retrying);
      const { registry, operations } = world.ports;
      await registry.markDeleted({ queue: 'orders', subscriptionId: 's-1', now: REQUESTED_AT });
      await operations.send(SUBSCRIPTION_DELETION);
      const isHit = await workWith(world, at, how);
      for (const { key } of retrying)
        expect(await world.record(key), `call ${at}`).toMatchObject({ status: 'cancelled' });
      expect(await registry.findSubscription('orders', 's-1'), `call ${at}`).toBeUndefined();
      return isHit;
    });
    expect(calls).toBeGreaterThan(3 * retrying.length);
  });
});
