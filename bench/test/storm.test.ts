import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { faultsIn } from '../storm/measure.ts';
import { measureStorm, type VirtualStorm } from '../storm/one-storm.ts';
import { addresses, type StormPlan } from '../storm/play.ts';
import type { Sabotage } from '../storm/world.ts';

const plan: StormPlan = {
  retries: 300,
  others: 300,
  quotas: { createPerSecond: 20, invokePerSecond: 1_000 },
};

const storm = (more: Partial<StormPlan> = {}, sabotage?: Sabotage): Promise<VirtualStorm> =>
  measureStorm('a storm', { ...plan, ...more }, sabotage);

describe('a storm in virtual time', () => {
  it('is drained at nearly the configured rate, with nothing lost or early and others as fast as without', async () => {
    const { drain, broken, waits, attemptMs, schedules } = await storm();
    expect(broken).toEqual({ lost: 0, early: 0 });
    expect(drain).toMatchObject({ retries: 300, repeated: 0 });
    expect(attemptMs).toBeGreaterThan(1_000);
    expect(drain.seconds / drain.idealSeconds).toBeLessThan(1.6);
    expect(waits.storm.messages).toBeGreaterThan(50);
    expect(waits.storm).toEqual(waits.calm);
    expect(schedules.throttled).toBeGreaterThan(0);
    expect(schedules.mostMade).toBe(20);
  });

  it('goes by hops of SQS where schedules are refused, and is on time all the same', async () => {
    const { hops, broken, schedules, reconciled } = await storm({
      quotas: { createPerSecond: 1, invokePerSecond: 1_000 },
    });
    expect([broken, reconciled]).toEqual([{ lost: 0, early: 0 }, 0]);
    expect(schedules.made).toBeLessThan(300);
    expect(hops).toBeGreaterThan(2 * (300 - schedules.made));
  });

  it('keeps to what the subscriber takes a second', async () => {
    const limited = await storm({ maxPerSecond: 20 });
    expect(limited.drain.perSecond).toBe(20);
    expect(limited.drain.mostInTenSeconds).toBeLessThanOrEqual(21);
    expect(limited.drain.seconds).toBeGreaterThan(14);
    expect(faultsIn({ virtual: [limited] })).toEqual([]);
  });
});

describe('what is not right in a storm is found out', () => {
  it('where schedules are said to be made and are not: reconcile makes up for them, late', async () => {
    const { drain, reconciled, broken } = await storm({}, ({ wakeUps }) => ({
      wakeUps: { ...sending(wakeUps), schedule: () => Promise.resolve('scheduled') },
    }));
    expect(broken).toEqual({ lost: 0, early: 0 });
    expect(reconciled).toBe(300);
    expect(drain.seconds).toBeGreaterThan(30);
  });

  it('where the wake-ups are gone, those of reconcile among them: messages are lost', async () => {
    const lost = await storm({}, ({ wakeUps }) => ({
      wakeUps: {
        ...sending(wakeUps),
        schedule: (name, at, wakeUp) =>
          wakeUp.key.messageId === 'm-7' ? Promise.resolve('scheduled') : wakeUps.schedule(name, at, wakeUp),
        sendDelayed: (wakeUp, seconds) =>
          wakeUp.key.messageId === 'm-7' ? Promise.resolve() : wakeUps.sendDelayed(wakeUp, seconds),
      },
    }));
    expect(lost.broken).toEqual({ lost: 1, early: 0 });
    expect(faultsIn({ virtual: [lost] })).toEqual(['a storm: 1 messages were lost.']);
  });

  it('where everybody goes at once: more requests than the subscriber takes', async () => {
    const crowd = await storm({ maxPerSecond: 5 }, ({ clock }) => ({
      rateLimits: { reserve: (_, { epoch }) => Promise.resolve({ at: clock.now(), epoch }) },
    }));
    expect(faultsIn({ virtual: [crowd] })).toEqual([
      `a storm: ${crowd.drain.mostInTenSeconds} requests a second, where 5 are allowed.`,
    ]);
  });

  it("where others' first attempts are held up by it", async () => {
    let busy = 0;
    const { waits } = await storm({}, ({ subscriber, clock }) => ({
      subscriber: {
        post: async (request, timeoutMs) => {
          if (request.url === addresses.others) {
            await clock.sleep(busy);
            return await subscriber.post(request, timeoutMs);
          }
          busy += 1;
          const reply = await subscriber.post(request, timeoutMs);
          busy -= 1;
          return reply;
        },
      },
    }));
    expect(waits.storm.p99).toBeGreaterThan(waits.calm.p99 + 50);
  });
});

const sending = <Port extends { sendDelayed: unknown }>({
  sendDelayed,
}: Port): Pick<Port, 'sendDelayed'> => ({
  sendDelayed,
});

describe('npm run bench:storm', () => {
  it('answers what it does not know with a usage line, and measures nothing', () => {
    const entry = new URL('../storm/storm.ts', import.meta.url).pathname;
    const { status, stdout, stderr } = spawnSync(process.execPath, [entry, '--fast'], { encoding: 'utf8' });
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^usage: npm run bench:storm /);
  });
});
