import { describe, expect, it } from 'vitest';
import { drainOf, retriedOf, type Request } from '../storm/figures.ts';
import { faultsIn, measureStorm, type Storm, type StormPlan } from '../storm/measure.ts';
import type { Sabotage } from '../storm/world.ts';

function storm(more: Partial<StormPlan> = {}, sabotage?: Sabotage): Promise<Storm> {
  const quotas = { createPerSecond: 20, invokePerSecond: 1_000 };
  return measureStorm({ name: 'a storm', retries: 300, quotas, ...more }, sabotage);
}

describe('a storm in virtual time', () => {
  it('is drained at nearly the configured rate, with nothing lost or early', async () => {
    const { drain, schedules } = await storm();
    expect(drain).toMatchObject({ retries: 300, lost: 0, early: 0 });
    // Attempts take a little longer than the answer of a second.
    expect(drain.perSecond).toBeLessThan(500);
    expect(drain.seconds / drain.idealSeconds).toBeLessThan(1.6);
    expect(schedules.asked).toBeGreaterThan(schedules.made);
    expect(schedules.mostMade).toBe(20);
  });

  it('goes by hops of SQS where schedules are refused, and is on time all the same', async () => {
    const { drain, schedules } = await storm({ quotas: { createPerSecond: 1, invokePerSecond: 1_000 } });
    expect([drain.lost, drain.early, schedules.reconciled]).toEqual([0, 0, 0]);
    expect(schedules.made).toBeLessThan(300);
    expect(schedules.hops).toBeGreaterThan(2 * (300 - schedules.made));
  });

  it('keeps to what the subscriber takes a second', async () => {
    const { drain } = await storm({ maxPerSecond: 20 });
    expect(drain.perSecond).toBe(20);
    expect(drain.seconds).toBeGreaterThan(14);
    expect(faultsIn([drain])).toEqual([]);
  });
});

describe('what is not right in a storm is found out', () => {
  it('where schedules are said to be made and are not: reconcile makes up for them, late', async () => {
    const { drain, schedules } = await storm({}, ({ wakeUps }) => ({
      wakeUps: { ...sending(wakeUps), schedule: () => Promise.resolve('scheduled') },
    }));
    expect([drain.lost, drain.early, schedules.reconciled]).toEqual([0, 0, 300]);
    expect(drain.seconds).toBeGreaterThan(30);
  });

  it('where the wake-ups are gone, those of reconcile among them: messages are lost', async () => {
    const { drain } = await storm({}, ({ wakeUps }) => ({
      wakeUps: {
        ...sending(wakeUps),
        schedule: (name, at, wakeUp) =>
          wakeUp.key.messageId === 'm-7' ? Promise.resolve('scheduled') : wakeUps.schedule(name, at, wakeUp),
        sendDelayed: (wakeUp, seconds) =>
          wakeUp.key.messageId === 'm-7' ? Promise.resolve() : wakeUps.sendDelayed(wakeUp, seconds),
      },
    }));
    expect(faultsIn([drain])).toEqual(['a storm: 1 messages were lost.']);
  });

  it('where everybody goes at once: more requests than the subscriber takes', async () => {
    const { drain } = await storm({ maxPerSecond: 5 }, ({ clock, rateLimits }) => ({
      rateLimits: { ...rateLimits, reserve: (_, { epoch }) => Promise.resolve({ at: clock.now(), epoch }) },
    }));
    expect(faultsIn([drain])).toEqual([
      `a storm: ${drain.mostInTenSeconds} requests a second, where 5 are allowed.`,
    ]);
  });
});

function sending<Port extends { sendDelayed: unknown }>({ sendDelayed }: Port): Pick<Port, 'sendDelayed'> {
  return { sendDelayed };
}

describe('the figures of a storm', () => {
  const request = (id: string, at: number, statusCode = 200): Request => ({
    id,
    at,
    answeredAt: at + 500,
    statusCode,
  });
  /** Due ten seconds after a first request that came at 0. */
  const drained = (ids: string[], ...requests: Request[]) => drainOf(retriedOf(ids, requests, 9_500), 2);

  it('count a message as lost that only failed or was never asked about, and a request as early a moment before it is due', () => {
    const failed = [request('a', 0, 503), request('a', 10_000, 500)];
    expect(drained(['a', 'b', 'c'], ...failed, request('c', 0, 503), request('c', 9_999))).toMatchObject({
      lost: 2,
      early: 1,
    });
  });

  it('time a drain from when the first was due until the last was answered', () => {
    const failed = [request('a', 0, 503), request('b', 1_000, 503), request('c', 1_000, 503)];
    const made = [request('a', 10_000), request('b', 11_400), request('c', 12_300), request('c', 13_000)];
    expect(drained(['a', 'b', 'c'], ...failed, ...made)).toEqual({
      retries: 4,
      dueWithin: 1,
      seconds: 3.5,
      idealSeconds: 2,
      perSecond: 2,
      mostInOneSecond: 2,
      mostInTenSeconds: 0.4,
      lost: 0,
      early: 0,
    });
  });
});
