import { describe, expect, it } from 'vitest';
import { brokenIn, drainOf, mostWithin, retriedOf, type Request } from '../storm/figures.ts';
import { faultsIn, measureStorm, type VirtualStorm } from '../storm/measure.ts';
import type { StormPlan } from '../storm/play.ts';
import type { Sabotage } from '../storm/world.ts';

const plan: StormPlan = {
  retries: 300,
  quotas: { createPerSecond: 20, invokePerSecond: 1_000 },
};

function storm(more: Partial<StormPlan> = {}, sabotage?: Sabotage): Promise<VirtualStorm> {
  return measureStorm('a storm', { ...plan, ...more }, sabotage);
}

describe('a storm in virtual time', () => {
  it('is drained at nearly the configured rate, with nothing lost or early', async () => {
    const { drain, broken, attemptMs, schedules } = await storm();
    expect(broken).toEqual({ lost: 0, early: 0 });
    expect(drain).toMatchObject({ retries: 300 });
    expect(attemptMs).toBeGreaterThan(1_000);
    expect(drain.seconds / drain.idealSeconds).toBeLessThan(1.6);
    expect(schedules.asked).toBeGreaterThan(schedules.made);
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
});

function sending<Port extends { sendDelayed: unknown }>({ sendDelayed }: Port): Pick<Port, 'sendDelayed'> {
  return { sendDelayed };
}

function request(id: string, at: number, statusCode = 200): Request {
  return { id, at, answeredAt: at + 500, statusCode };
}

describe('the figures of a storm', () => {
  /** Due ten seconds after the first answer. */
  const retried = (ids: string[], ...requests: Request[]) =>
    retriedOf(ids, requests, ({ answeredAt }) => answeredAt + 9_500);

  it.each([
    [[], 0],
    [[0, 999, 1_000, 1_001], 3],
    [[0, 1_000, 2_000], 1],
    [[1_500, 0, 700, 900, 1_400], 4],
  ])('find of %j in the fullest second %d', (times, most) => {
    expect(mostWithin(times, 1_000)).toBe(most);
  });

  it('count a message as lost that was only failed or never asked about, and a request as early a moment before it is due', () => {
    const all = retried(
      ['a', 'b', 'c'],
      request('a', 0, 503),
      request('a', 10_000, 500),
      request('c', 0, 503),
      request('c', 9_999),
    );
    expect(brokenIn(all)).toEqual({ lost: 2, early: 1 });
    expect(brokenIn(retried(['a'], request('a', 0, 503), request('a', 10_000)))).toEqual({
      lost: 0,
      early: 0,
    });
  });

  it('time a drain from when the first was due until the last was answered', () => {
    const all = retried(
      ['a', 'b', 'c'],
      ...[request('a', 0, 503), request('b', 1_000, 503), request('c', 1_000, 503)],
      ...[request('a', 10_000), request('b', 11_400), request('c', 12_300), request('c', 13_000)],
    );
    expect(drainOf(all, 2)).toEqual({
      retries: 4,
      dueWithin: 1,
      seconds: 3.5,
      idealSeconds: 2,
      perSecond: 2,
      mostInOneSecond: 2,
      mostInTenSeconds: 0.4,
    });
  });

  it('take for ideal what cannot be faster than retries become due, nor than they may be made', () => {
    const due = (...times: number[]) => times.map((dueAt) => ({ dueAt, retries: [request('a', dueAt)] }));
    const ideal = (...times: number[]) => drainOf(due(...times), 4).idealSeconds;
    expect([ideal(0, 0, 0, 0), ideal(0, 0, 0, 10_000), ideal(0, 9_900, 9_900, 10_000)]).toEqual([
      1, 10.25, 10.65,
    ]);
  });
});
