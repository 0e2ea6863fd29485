import { describe, expect, it } from 'vitest';
import { anExhausted, operateWorld } from '../../support/in-memory/operate-world.ts';

/** A recovery of more than a page, with one delivery on the first page that makes trouble. */
const withPoison = async () => {
  const world = operateWorld();
  for (let index = 0; index < 60; index += 1) {
    await world.keep(anExhausted({ messageId: index === 7 ? 'poison' : `m-${index}` }));
  }
  const recovery = await world.order();
  const failures = () => world.ports.journal.facts.filter(({ fact }) => fact === 'operation_failed_for');
  return { ...world, recovery, failures };
};

const ALL_BUT_ONE = { state: 'completed', found: 60, reopened: 59, skipped: { fault: 1 }, deferred: [] };

describe('a delivery that a recovery cannot deal with', () => {
  it('is counted as a fault after five more looks in half an hour, and keeps no other back', async () => {
    const { ports, recovery, work, time, ordered, failures } = await withPoison();
    const write = ports.deliveries.write.bind(ports.deliveries);
    ports.deliveries.write = (transition) =>
      transition.key.messageId === 'poison'
        ? Promise.reject(new RangeError('the item is too large'))
        : write(transition);
    const begunAt = time.now;
    await work();
    expect(ordered).toEqual([]);
    expect(time.now - begunAt).toBe(30 * 60_000);
    expect(await recovery.found()).toMatchObject(ALL_BUT_ONE);
    expect(failures()).toHaveLength(6);
    expect(failures()[0]).toMatchObject({
      operation: 'recovery',
      key: { messageId: 'poison' },
      error: { name: 'RangeError' },
    });
  });

  it('is reopened where the trouble passes', async () => {
    const { ports, recovery, work, woken } = await withPoison();
    let failures = 2;
    ports.wakeUps.sendDelayed = (wakeUp) => {
      if (wakeUp.key.messageId === 'poison' && failures > 0) {
        failures -= 1;
        return Promise.reject(new Error('throttled'));
      }
      woken.push(wakeUp);
      return Promise.resolve();
    };
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', reopened: 60, skipped: {} });
    expect(woken).toHaveLength(60);
  });

  it('is counted as reopened where only its wake-up could not be sent, which is left to reconcile', async () => {
    const { ports, recovery, work } = await withPoison();
    const sendDelayed = ports.wakeUps.sendDelayed.bind(ports.wakeUps);
    ports.wakeUps.sendDelayed = (wakeUp) =>
      wakeUp.key.messageId === 'poison' ? Promise.reject(new Error('throttled')) : sendDelayed(wakeUp);
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', reopened: 60, skipped: {} });
  });

  it('may be one whose record nobody can read', async () => {
    const { ports, recovery, work, failures } = await withPoison();
    const listings = { ...ports.deliveryListings };
    const isPoison = ({ messageId }: { messageId: string }) => messageId === 'poison';
    ports.deliveryListings.records = async (keys) => ({
      ...(await listings.records(keys.filter((key) => !isPoison(key)))),
      unreadable: keys.filter(isPoison).map((key) => ({ key, error: new TypeError('unreadable') })),
    });
    await work();
    expect(await recovery.found()).toMatchObject(ALL_BUT_ONE);
    expect(failures()).toHaveLength(6);
  });

  it('is counted once where the recovery is stopped after its record was written', async () => {
    const { ports, recovery, workOnce, work } = await withPoison();
    const sendDelayed = ports.wakeUps.sendDelayed.bind(ports.wakeUps);
    ports.wakeUps.sendDelayed = (wakeUp) =>
      wakeUp.key.messageId === 'poison' ? Promise.reject(new Error('throttled')) : sendDelayed(wakeUp);
    await workOnce();
    const current = await recovery.found();
    expect(current).toMatchObject({ state: 'running', reopened: 59 });
    await ports.recoveries.save({ ...current, state: 'stopped', version: current.version + 1 });
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'stopped', found: 60, reopened: 60, deferred: [] });
  });
});

describe('a service that is away for a whole recovery', () => {
  it('has the order come again, and costs no delivery its round', async () => {
    const { ports, recovery, workOnce, work, ordered } = await withPoison();
    const recoveries = { ...ports.recoveries };
    const listings = { ...ports.deliveryListings };
    ports.recoveries.save = () => Promise.reject(new Error('DynamoDB is away'));
    ports.deliveryListings.oldest = () => Promise.reject(new Error('DynamoDB is away'));
    await workOnce();
    expect(ordered).toHaveLength(1);
    Object.assign(ports.recoveries, recoveries);
    Object.assign(ports.deliveryListings, listings);
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', reopened: 60, skipped: {} });
  });
});
