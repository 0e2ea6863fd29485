import { describe, expect, it } from 'vitest';
import { faultsIn, measureStorm, type StormPlan } from '../storm/measure.ts';
import type { Sabotage } from '../storm/world.ts';

function storm(more: Partial<StormPlan> = {}, sabotage?: Sabotage) {
  const quotas = { createPerSecond: 20, invokePerSecond: 1_000 };
  return measureStorm({ name: 'a storm', retries: 300, quotas, ...more }, sabotage);
}

describe('a storm in virtual time', () => {
  it('drains at nearly the configured rate, without lost or early retries', async () => {
    const { drain, schedules } = await storm();
    expect(drain).toMatchObject({ retries: 300, lost: 0, early: 0 });
    // An attempt takes a little longer than the answer of one second.
    expect(drain.perSecond).toBeLessThan(500);
    expect(drain.seconds / drain.idealSeconds).toBeLessThan(1.6);
    expect(schedules.asked).toBeGreaterThan(schedules.made);
    expect(schedules.mostMade).toBe(20);
  });

  it('uses hops by SQS in place of refused schedules, and is still on time', async () => {
    const { drain, schedules } = await storm({ quotas: { createPerSecond: 1, invokePerSecond: 1_000 } });
    expect([drain.lost, drain.early, schedules.reconciled]).toEqual([0, 0, 0]);
    expect(schedules.made).toBeLessThan(300);
    expect(schedules.hops).toBeGreaterThan(2 * (300 - schedules.made));
  });

  it('keeps to the limit of the subscription', async () => {
    const { drain } = await storm({ maxPerSecond: 20 });
    expect(drain.perSecond).toBe(20);
    expect(drain.seconds).toBeGreaterThan(14);
    expect(faultsIn([drain])).toEqual([]);
  });
});

describe('the storm bench reports', () => {
  it('lost messages, where wake-ups disappear', async () => {
    const { drain } = await storm({}, ({ wakeUps }) => ({
      wakeUps: {
        schedule: (name, at, wakeUp) =>
          wakeUp.key.messageId === 'm-7' ? Promise.resolve('scheduled') : wakeUps.schedule(name, at, wakeUp),
        sendDelayed: (wakeUp, seconds) =>
          wakeUp.key.messageId === 'm-7' ? Promise.resolve() : wakeUps.sendDelayed(wakeUp, seconds),
      },
    }));
    expect(faultsIn([drain])).toEqual(['a storm: 1 messages were lost.']);
  });

  it('requests over the limit, where every delivery gets a slot at once', async () => {
    const { drain } = await storm({ maxPerSecond: 5 }, ({ clock, rateLimits }) => ({
      rateLimits: { ...rateLimits, reserve: (_, { epoch }) => Promise.resolve({ at: clock.now(), epoch }) },
    }));
    expect(faultsIn([drain])).toEqual([
      `a storm: ${drain.mostInTenSeconds} requests a second, where 5 are allowed.`,
    ]);
  });
});
