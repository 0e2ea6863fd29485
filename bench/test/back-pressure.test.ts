import { describe, expect, it } from 'vitest';
import { faultsOfOutage } from '../back-pressure/deployed-outage.ts';
import { faultsIn, measureOutage, measureThrottled } from '../back-pressure/measure.ts';
import { rampPicture } from '../back-pressure/ramp-picture.ts';
import { throttling } from '../back-pressure/receivers.ts';

/** As many as the bench: with fewer the rate is learned in the second half. */
const MESSAGES = 600;

describe('back-pressure in virtual time', () => {
  it.each(Object.keys(throttling))('delivers all to a %s that refuses few requests', async (receiver) => {
    const throttled = await measureThrottled(receiver, MESSAGES);
    expect(faultsIn([throttled], [])).toEqual([]);
    expect(throttled.refusedShare).toBeGreaterThan(0);
    expect(throttled.seconds).toBeGreaterThan(MESSAGES / 5);
  });

  it('waits out an outage with few requests, and draws it', async () => {
    const { outage, steps } = await measureOutage(300);
    expect(outage).toMatchObject({ exhausted: 0 });
    // A message has 20 attempts in less than five minutes.
    expect(outage.requestsDuring).toBeLessThan(300);
    expect(outage.drained).toBeLessThan(120);
    const bars = steps.flatMap(({ failed, answered }) => [failed, answered]).filter((count) => count > 0);
    expect(rampPicture(steps).match(/<rect /g)).toHaveLength(bars.length);
  });
});

describe('the bench of back-pressure reports', () => {
  it('failed deliveries and too many refusals', () => {
    const throttled = {
      receiver: 'r',
      messages: 600,
      refusedShare: 0.11,
      refusedShareLater: 0.021,
      exhausted: 1,
      seconds: 1,
    };
    const outage = {
      messages: 1,
      requestsDuring: 1,
      firstSuccess: 1,
      drained: 1,
      exhausted: 2,
      wakeUpsPerMessage: 1,
    };
    expect(faultsIn([throttled], [outage])).toHaveLength(4);
  });

  it('exhausted and lost deliveries of a deployed outage', () => {
    const outage = {
      messages: 10,
      minutes: 1,
      requestsDuring: 1,
      firstSuccess: 1,
      drained: 1,
      exhausted: 0,
      lost: 0,
      duplicates: 0,
      steps: [],
    };
    expect(faultsOfOutage(outage)).toEqual([]);
    expect(faultsOfOutage({ ...outage, exhausted: 1, lost: 1 })).toHaveLength(2);
  });
});
