import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isCircuitOpen, paceOf, pressureAt } from '../../../shared/domain/subscription/back-pressure.ts';
import { asEnabled, moveTo } from '../../../shared/domain/subscription/change.ts';
import { healthChangeHolds } from '../../../shared/domain/subscription/health.ts';
import { withLimitDated } from '../../../shared/domain/subscription/rate-limit.ts';
import type { Pressure, Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { aSubscription } from '../../support/builders.ts';
import { SOME_TIME } from '../../support/delivery-builders.ts';
import { answer, findDown, made, refuse, TRIPPED, under } from '../../support/pressure.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const NOW = SOME_TIME;

describe('the pressure of a subscription', () => {
  it.each([
    ['after a refusal', { perSecond: 2 }, 36 * SECOND],
    ['after an outage', { reason: 'circuit_open', perSecond: 2 }, 36 * SECOND],
    ['at a learned rate', { perSecond: 5, learned: true }, 23 * MINUTE],
  ] as const)('is over once its rate has grown to a thousand a second: %s', (_, pressure, ms) => {
    const subscription = under(pressure, { options: { max_per_second: 4 } });
    expect(pressureAt(subscription, NOW + 0.99 * ms)).toBeDefined();
    expect(pressureAt(subscription, NOW + ms)).toBeUndefined();
  });

  it('of an open circuit lasts until a probe succeeds', () => {
    expect(pressureAt(under({ reason: 'circuit_open' }), NOW + 48 * HOUR)).toBeDefined();
  });

  it('does not slow a subscriber that fetches', () => {
    const pull = under({ perSecond: 1 }, { subscriber: 'pull:' });
    expect(paceOf(pull, NOW)).toBeUndefined();
  });

  it('slows nothing after a new address or once it is re-enabled, and the next answer ends the episode', () => {
    const current = under({ reason: 'circuit_open' });
    for (const changed of [moveTo('https://other.test/', current, NOW), asEnabled(current, NOW)]) {
      expect(pressureAt(changed, NOW - SECOND)).toBeUndefined();
      expect(answer(changed, NOW)).toMatchObject({
        pressure: { ended: true },
        unsent: { event: { type: 'subscription.resumed', reason: 'circuit_open', since: NOW } },
      });
    }
  });

  it('that has ended is dropped with a new address or when it is re-enabled', () => {
    const current = under({ ended: true });
    expect(moveTo('https://other.test/', current, NOW)).not.toHaveProperty('pressure');
    expect(asEnabled(current, NOW)).not.toHaveProperty('pressure');
  });

  it('begins another episode if the subscriber fails after it was re-enabled', () => {
    const enabled = asEnabled(under({ reason: 'circuit_open' }), NOW);
    const ended = made(findDown(enabled, NOW + SECOND, TRIPPED), enabled);
    expect(findDown(ended, NOW + 2 * SECOND, TRIPPED)).toMatchObject({
      pressure: { since: NOW + 2 * SECOND },
      unsent: { event: { type: 'subscription.slowed', since: NOW + 2 * SECOND } },
    });
  });

  it('whose episode is over ends with the next request, even with one that fails', () => {
    const over = under({ reason: 'circuit_open', perSecond: 2 });
    for (const change of [findDown(over, NOW + HOUR), refuse(over, NOW + HOUR)])
      expect(change).toMatchObject({
        pressure: { ended: true },
        unsent: { event: { type: 'subscription.resumed', since: NOW, at: NOW + HOUR } },
      });
  });

  it('is kept from the results of requests that were sent under another version', () => {
    const healthy = aSubscription();
    const first = refuse(healthy, NOW);
    const slowed = made(first, healthy);
    for (const late of [refuse(healthy, NOW), findDown(healthy, NOW, TRIPPED)])
      expect(healthChangeHolds(slowed, late ?? expect.fail())).toBe(false);
  });

  it('is kept from the results of requests to a former address', () => {
    const change = refuse(aSubscription({ changedAt: 1 }), NOW);
    expect(healthChangeHolds(aSubscription({ changedAt: 2 }), change)).toBe(false);
  });
});

describe('the pace of a subscription', () => {
  it('is unlimited, or max_per_second, without pressure', () => {
    expect(paceOf(aSubscription(), NOW)).toBeUndefined();
    expect(paceOf(aSubscription({ options: { max_per_second: 10 } }), NOW)).toEqual({
      intervalMs: 100,
      epoch: '0@10',
    });
  });

  it('is the slower of max_per_second and the pressure', () => {
    const pace = (perSecond: number, max_per_second: number) =>
      paceOf(under({ perSecond, learned: true }, { options: { max_per_second } }), NOW)?.intervalMs;
    expect([pace(4, 10), pace(10, 4)]).toEqual([250, 250]);
  });

  it('has a later epoch after the end of the pressure', () => {
    const slowed = under({ perSecond: 6.8, learned: true }, { options: { max_per_second: 10 } });
    const [during = '', after = ''] = [NOW, NOW + 22 * MINUTE].map((now) => paceOf(slowed, now)?.epoch);
    expect(after > during).toBe(true);
  });

  it('of an open circuit is one probe at a time', () => {
    expect(paceOf(under({ reason: 'circuit_open' }), NOW)).toMatchObject({
      longestMs: 0,
      intervalMs: 30 * SECOND,
      reason: 'circuit_open',
    });
  });

  it('of an open circuit keeps its line at a new limit, which would start another probe beside the one in flight', () => {
    const open = under({ reason: 'circuit_open' }, { options: { max_per_second: 5 } });
    const limited = withLimitDated(open, { ...open, options: { max_per_second: 1 } }, NOW + SECOND);
    expect(paceOf(limited, NOW + SECOND)?.epoch).toBe(paceOf(open, NOW)?.epoch);
  });

  it.each([
    [0, 10 * SECOND],
    [MINUTE, 30 * SECOND],
    [24 * HOUR, 15 * MINUTE],
  ])('lets waiting deliveries ask more rarely in a longer outage: after %d ms, every %d ms', (ageMs, ms) => {
    const open = under({ reason: 'circuit_open', opensAt: NOW + ageMs });
    expect(paceOf(open, NOW)?.askAgainMs).toBe(ms);
  });

  it.each([
    ['a ramp has a short line, because its rate doubles in seconds', {}, 2 * SECOND, 10 * SECOND],
    [
      'a learned rate has a line that lasts until waiting deliveries ask',
      { learned: true },
      10 * MINUTE,
      15 * MINUTE,
    ],
  ] as const)('%s', (_, more, longestMs, askAgainMs) => {
    const throttled = under({ perSecond: 5, since: NOW - 24 * HOUR, ...more });
    expect(paceOf(throttled, NOW)).toMatchObject({ longestMs, askAgainMs });
  });

  it('of an open circuit that had no messages for long is that of a new episode', () => {
    const open = under({ reason: 'circuit_open', opensAt: NOW + MINUTE });
    const askAgainMs = [3.4, 3.6, 600].map((minutes) => paceOf(open, NOW + minutes * MINUTE)?.askAgainMs);
    expect(askAgainMs).toEqual([102 * SECOND, 10 * SECOND, 10 * SECOND]);
  });

  /** Anything that may happen to a subscription; its line must never go back to an earlier epoch. */
  const step = fc.tuple(
    fc.constantFrom('refuse', 'down', 'answer', 'limit', 'enable', 'wait'),
    fc.integer({ min: -SECOND, max: 12 * MINUTE }),
  );

  it('gets later epochs with every change, even if clocks differ', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let subscription = aSubscription({ options: { max_per_second: 5 }, createdAt: NOW });
        let now = NOW;
        let epoch = paceOf(subscription, now)?.epoch ?? '';
        for (const [kind, ms] of steps) {
          now += ms;
          const isLater = beginsLine(kind, pressureAt(subscription, now));
          subscription = after(kind, subscription, now);
          const next = paceOf(subscription, now)?.epoch ?? '';
          if (isLater) expect(next > epoch).toBe(true);
          expect(next >= epoch).toBe(true);
          epoch = next;
        }
      }),
    );
  });

  const beginsLine = (kind: string, pressure: Pressure | undefined): boolean => {
    if (kind === 'limit') return pressure === undefined || !isCircuitOpen(pressure);
    return kind !== 'wait' && kind !== 'answer';
  };

  const after = (kind: string, current: Subscription, now: number): Subscription => {
    switch (kind) {
      case 'refuse':
        return made(refuse(current, now), current);
      case 'down':
        return made(findDown(current, now, TRIPPED), current);
      case 'answer':
        return made(answer(current, now), current);
      case 'limit': {
        const max_per_second = current.options.max_per_second === 5 ? 6 : 5;
        return withLimitDated(current, { ...current, options: { max_per_second } }, now);
      }
      case 'enable':
        return asEnabled(current, now);
      default:
        return current;
    }
  };
});
