import { describe, expect, it } from 'vitest';
import { anExhausted, operateWorld } from '../../support/in-memory/operate-world.ts';

/** A recovery of more than a page with one faulty delivery on the first page. */
const withFaultyDelivery = async () => {
  const world = operateWorld();
  for (let index = 0; index < 60; index += 1) {
    await world.keep(anExhausted({ messageId: index === 7 ? 'faulty' : `m-${index}` }));
  }
  const recovery = await world.startRecovery();
  const failures = () => world.ports.journal.facts.filter(({ fact }) => fact === 'operation_failed_for');
  return { ...world, recovery, failures };
};

const ALL_BUT_ONE = { state: 'completed', found: 60, reopened: 59, skipped: { fault: 1 }, deferred: [] };

describe('a delivery that a recovery cannot process', () => {
  it('is counted as a fault after five more tries in half an hour, and does not block the others', async () => {
    const { ports, recovery, work, time, queued, failures } = await withFaultyDelivery();
    const write = ports.deliveries.write.bind(ports.deliveries);
    ports.deliveries.write = (transition) =>
      transition.key.messageId === 'faulty'
        ? Promise.reject(new RangeError('the item is too large'))
        : write(transition);
    const begunAt = time.now;
    await work();
    expect(queued).toEqual([]);
    expect(time.now - begunAt).toBe(30 * 60_000);
    expect(await recovery.found()).toMatchObject(ALL_BUT_ONE);
    expect(failures()).toHaveLength(6);
    expect(failures()[0]).toMatchObject({
      operation: 'recovery',
      key: { messageId: 'faulty' },
      error: { name: 'RangeError' },
    });
  });

  it('is reopened if the fault is transient', async () => {
    const { ports, recovery, work, woken } = await withFaultyDelivery();
    let failures = 2;
    ports.wakeUps.sendDelayed = (wakeUp) => {
      if (wakeUp.key.messageId === 'faulty' && failures > 0) {
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

  it('is counted as reopened if only its wake-up failed, which reconcile repeats', async () => {
    const { ports, recovery, work } = await withFaultyDelivery();
    const sendDelayed = ports.wakeUps.sendDelayed.bind(ports.wakeUps);
    ports.wakeUps.sendDelayed = (wakeUp) =>
      wakeUp.key.messageId === 'faulty' ? Promise.reject(new Error('throttled')) : sendDelayed(wakeUp);
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', reopened: 60, skipped: {} });
  });

  it('is counted as a fault if its record cannot be read', async () => {
    const { ports, recovery, work, failures } = await withFaultyDelivery();
    const listings = { ...ports.deliveryListings };
    const isFaulty = ({ messageId }: { messageId: string }) => messageId === 'faulty';
    ports.deliveryListings.records = async (keys) => ({
      ...(await listings.records(keys.filter((key) => !isFaulty(key)))),
      unreadable: keys.filter(isFaulty).map((key) => ({ key, error: new TypeError('unreadable') })),
    });
    await work();
    expect(await recovery.found()).toMatchObject(ALL_BUT_ONE);
    expect(failures()).toHaveLength(6);
  });

  it('is counted once if the recovery is stopped after its record was written', async () => {
    const { ports, recovery, workOnce, work } = await withFaultyDelivery();
    const sendDelayed = ports.wakeUps.sendDelayed.bind(ports.wakeUps);
    ports.wakeUps.sendDelayed = (wakeUp) =>
      wakeUp.key.messageId === 'faulty' ? Promise.reject(new Error('throttled')) : sendDelayed(wakeUp);
    await workOnce();
    const current = await recovery.found();
    expect(current).toMatchObject({ state: 'running', reopened: 59 });
    await ports.recoveries.save({ ...current, state: 'stopped', version: current.version + 1 });
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'stopped', found: 60, reopened: 60, deferred: [] });
  });
});

describe('a service that is down during a whole recovery', () => {
  it('makes the operation return and costs no delivery its round', async () => {
    const { ports, recovery, workOnce, work, queued } = await withFaultyDelivery();
    const recoveries = { ...ports.recoveries };
    const listings = { ...ports.deliveryListings };
    ports.recoveries.save = () => Promise.reject(new Error('DynamoDB is down'));
    ports.deliveryListings.oldest = () => Promise.reject(new Error('DynamoDB is down'));
    await workOnce();
    expect(queued).toHaveLength(1);
    Object.assign(ports.recoveries, recoveries);
    Object.assign(ports.deliveryListings, listings);
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', reopened: 60, skipped: {} });
  });
});
