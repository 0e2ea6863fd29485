import { describe, expect, it } from 'vitest';
import type { WakeUp } from '../../shared/domain/delivery/job.ts';
import { scheduleName } from '../../shared/domain/delivery/wake-up-plan.ts';
import type { WakeUps } from '../../shared/ports/wake-ups.ts';
import { aDeliveryKey, SOME_TIME } from '../support/delivery-builders.ts';
import { inAnyOrder } from '../support/in-any-order.ts';

/** `arrivals` waits for `count` wake-ups, and returns all that there are then, with their times of arrival. */
export type WakeUpsUnderTest = {
  wakeUps: WakeUps;
  now: () => number;
  arrivals: (count: number) => Promise<{ value: WakeUp; at: number }[]>;
};

const aWakeUp = (overrides: Partial<WakeUp> = {}): WakeUp => ({
  kind: 'wake_up',
  key: aDeliveryKey(),
  attempt: 2,
  dueAt: SOME_TIME,
  ...overrides,
});

const nameOf = ({ key, attempt, dueAt }: WakeUp): string => scheduleName(key, attempt, dueAt);

/**
 * Contract of wake-ups: each arrives unchanged and not before its time; a schedule's name stands for one wake-up.
 */
export const describeWakeUpsContract = (name: string, make: () => Promise<WakeUpsUnderTest>): void => {
  describe(`wake-ups ${name}`, () => {
    it('arrive unchanged, after their delay and not before', async () => {
      const { wakeUps, now, arrivals } = await make();
      const prompt = aWakeUp({ attempt: 100, by: 'reconcile' });
      const fraction = aWakeUp({ by: 'sqs_delay', dueAt: SOME_TIME + 0.5 });
      const sentAt = now();
      await wakeUps.sendDelayed(fraction, 0.9);
      await wakeUps.sendDelayed(prompt, 0);
      const arrived = await arrivals(2);
      expect(inAnyOrder(arrived.map(({ value }) => value))).toEqual(inAnyOrder([prompt, fraction]));
      const delayed = arrived.find(({ value }) => value.attempt === fraction.attempt);
      expect((delayed?.at ?? 0) - sentAt).toBeGreaterThanOrEqual(900);
    });

    it('arrive as often as they were sent, including copies', async () => {
      const { wakeUps, arrivals } = await make();
      const copied = aWakeUp();
      await Promise.all(Array.from({ length: 50 }, () => wakeUps.sendDelayed(copied, 0)));
      const arrived = await arrivals(50);
      expect(arrived.map(({ value }) => value)).toEqual(Array.from({ length: 50 }, () => copied));
    });

    it('arrive once by a schedule at its time, however many callers set it', async () => {
      const { wakeUps, now, arrivals } = await make();
      const [one, moved, other] = [aWakeUp({ by: 'scheduler' }), aWakeUp(), aWakeUp()];
      const later = { ...moved, dueAt: moved.dueAt + 1 };
      const at = now() + 1_500;
      const settings = [one, moved, later, other].flatMap((wakeUp) =>
        Array.from({ length: wakeUp === one ? 50 : 1 }, () => wakeUps.schedule(nameOf(wakeUp), at, wakeUp)),
      );
      expect(new Set(await Promise.all(settings))).toEqual(new Set(['scheduled']));
      // A later caller finds the name in use, and the first schedule stays.
      expect(await wakeUps.schedule(nameOf(one), at + 500, one)).toBe('scheduled');
      const arrived = await arrivals(4);
      expect(inAnyOrder(arrived.map(({ value }) => value))).toEqual(inAnyOrder([one, moved, later, other]));
      for (const arrival of arrived) expect(arrival.at).toBeGreaterThanOrEqual(at);
    });

    it('do not arrive by a removed schedule, unless it is set again', async () => {
      const { wakeUps, now, arrivals } = await make();
      const [removed, renewed, kept] = [aWakeUp(), aWakeUp(), aWakeUp()];
      const at = now() + 1_500;
      for (const wakeUp of [removed, renewed, kept]) await wakeUps.schedule(nameOf(wakeUp), at, wakeUp);
      expect(await wakeUps.unschedule(nameOf(removed))).toBe('removed');
      expect(await wakeUps.unschedule(nameOf(removed))).toBe('absent');
      expect(await wakeUps.unschedule(nameOf(renewed))).toBe('removed');
      expect(await wakeUps.schedule(nameOf(renewed), at, renewed)).toBe('scheduled');
      const arrived = await arrivals(2);
      expect(inAnyOrder(arrived.map(({ value }) => value))).toEqual(inAnyOrder([renewed, kept]));
    });

    it('can be removed when none was set', async () => {
      const { wakeUps } = await make();
      expect(await wakeUps.unschedule(nameOf(aWakeUp()))).toBe('absent');
    });
  });
};
