import { ListSchedulesCommand } from '@aws-sdk/client-scheduler';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { dynamoClient } from '../../../shared/adapters/dynamodb/client.ts';
import { schedulerClient } from '../../../shared/adapters/scheduler/wake-ups.ts';
import { startFaultProxy } from '../../chaos/fault-proxy.ts';
import { faultLog } from '../../chaos/fault-log.ts';
import { seededChance } from '../../support/chance.ts';
import { awsStub } from '../../support/aws-stub.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** `fault`: index of the kind of fault. 0 and 1 fail a call before its effect, 2 and 3 after it. */
type Chances = { persists: boolean; fault: number };

/** Every call fails; its retries also fail if `persists`. */
const chanceOf = ({ persists, fault }: Chances) => {
  let asked = 0;
  return {
    ...seededChance(1),
    // The proxy asks alternately whether a call fails, and whether its retries fail.
    happens: () => (asked += 1) % 2 === 1 || persists,
    pick: <T>(items: readonly T[]): T => {
      const item = items[fault];
      if (item === undefined) throw new RangeError('no such fault');
      return item;
    },
  };
};

/** A service behind the fault proxy, and calls to it by the project's DynamoDB client and by an SDK client. */
const behindProxy = async (chances: Chances) => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const stub = await awsStub(() => ({}));
  const faults = faultLog();
  const proxy = await startFaultProxy(stub.config.endpoint, chanceOf(chances), faults);
  proxy.setFaulty(true);
  onTestFinished(async () => {
    await proxy.close();
    await stub.close();
  });
  const { region, credentials } = stub.config;
  const options = { endpoint: proxy.origin, region, credentials };
  const [documents, scheduler] = [dynamoClient(options), schedulerClient(options)];
  const calls = {
    DynamoDB: () => documents.get({ TableName: 'table', Key: { pk: 'p' } }),
    scheduler: () => scheduler.send(new ListSchedulesCommand({})),
  };
  return { calls, faults, arrived: () => stub.requests.length, proxy };
};

const failed = ({ counts }: ReturnType<typeof faultLog>): number =>
  Object.values(counts()).reduce((sum, count) => sum + count, 0);

describe.each(['DynamoDB', 'scheduler'] as const)('a call through the fault proxy,client: %s', (client) => {
  it.each([
    [0, 1],
    [1, 1],
    [2, 2],
    [3, 2],
  ])('succeeds by a retry: fault %i', async (fault, arrivals) => {
    const { calls, faults, arrived } = await behindProxy({ persists: false, fault });
    await calls[client]();
    expect(failed(faults)).toBe(1);
    expect(arrived()).toBe(arrivals);
  });

  it.each([
    [0, 0],
    [3, 3],
  ])('fails where its retries also fail: fault %i', async (fault, arrivals) => {
    const { calls, faults, arrived } = await behindProxy({ persists: true, fault });
    await expect(calls[client]()).rejects.toThrow();
    expect(failed(faults)).toBe(3);
    expect(arrived()).toBe(arrivals);
  });

  it('can fail again when the same call is repeated later', async () => {
    const { calls, faults } = await behindProxy({ persists: false, fault: 0 });
    await calls[client]();
    await calls[client]();
    expect(failed(faults)).toBe(2);
  });

  it('succeeds while faults are switched off', async () => {
    const { calls, faults, proxy } = await behindProxy({ persists: true, fault: 0 });
    proxy.setFaulty(false);
    await calls[client]();
    expect(faults.counts()).toEqual({});
  });
});
