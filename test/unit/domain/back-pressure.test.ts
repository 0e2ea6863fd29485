import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { paceOf, pressureAt } from '../../../shared/domain/subscription/back-pressure.ts';
import { asEnabled, moveTo } from '../../../shared/domain/subscription/change.ts';
import { healthChangeHolds } from '../../../shared/domain/subscription/health.ts';
import { withLimitDated } from '../../../shared/domain/subscription/rate-limit.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { aSubscription } from '../../support/builders.ts';
import { SOME_TIME } from '../../support/delivery-builders.ts';
import { answer, findDown, made, refuse, under } from '../../support/pressure.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const NOW = SOME_TIME;

describe('the pressure of a subscription', () => {
  it.each([
    ['ten minutes after the line opened', { perSecond: 1, learned: true }, {}, 10 * MINUTE],
    ['a throttled one at a thousand a second', { perSecond: 1 }, {}, 40 * SECOND],
    ['a ramp at 200 a second', { reason: 'circuit_open', perSecond: 1 }, {}, 77 * SECOND],
    [
      'a ramp at max_per_second',
      { reason: 'circuit_open', perSecond: 1 },
      { max_per_second: 4 },
      20 * SECOND,
    ],
  ] as const)('is over: %s', (_, pressure, options, ms) => {
    const subscription = under(pressure, { options });
    expect(pressureAt(subscription, NOW + ms - 600)).toBeDefined();
    expect(pressureAt(subscription, NOW + ms)).toBeUndefined();
  });

  it('of a throttled one lasts beyond max_per_second, which the subscriber may refuse too', () => {
    const subscription = under({ perSecond: 1 }, { options: { max_per_second: 2 } });
    expect(pressureAt(subscription, NOW + 10 * SECOND)).toBeDefined();
  });

  it('lasts until its line opens, even at a rate that ends it', () => {
    const ramp = under(
      { reason: 'circuit_open', perSecond: 1, opensAt: NOW + SECOND },
      { options: { max_per_second: 0.5 } },
    );
    expect(pressureAt(ramp, NOW)).toBeDefined();
    expect(pressureAt(ramp, NOW + SECOND)).toBeUndefined();
  });

  it('of an open circuit lasts until a probe succeeds', () => {
    expect(pressureAt(under({ reason: 'circuit_open' }), NOW + 48 * HOUR)).toBeDefined();
  });

  it('does not slow a subscriber that fetches', () => {
    const pull = under({ perSecond: 1 }, { subscriber: 'pull:' });
    expect(paceOf(pull, NOW)).toBeUndefined();
  });

  it('is dropped with a new address or when it is re-enabled', () => {
    const current = under({ reason: 'circuit_open' });
    expect(moveTo('https://other.test/', current, NOW)).not.toHaveProperty('pressure');
    expect(asEnabled(current, NOW)).not.toHaveProperty('pressure');
  });

  it('is kept from the results of requests that were sent under another version', () => {
    const healthy = aSubscription();
    const first = refuse(healthy, NOW);
    const slowed = made(first, healthy);
    for (const late of [refuse(healthy, NOW), findDown(healthy, NOW, { isTripped: true })])
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
      epoch: '0/10',
    });
  });

  it('is the slower of max_per_second and the pressure', () => {
    const pace = (perSecond: number, max_per_second: number) =>
      paceOf(under({ perSecond, learned: true }, { options: { max_per_second } }), NOW)?.intervalMs;
    expect([pace(4, 10), pace(10, 4)]).toEqual([250, 250]);
  });

  it('has a later epoch after the end of the pressure', () => {
    const slowed = under({ perSecond: 6.8, learned: true }, { options: { max_per_second: 10 } });
    const [during = '', after = ''] = [NOW, NOW + 10 * MINUTE].map((now) => paceOf(slowed, now)?.epoch);
    expect(after > during).toBe(true);
  });

  it('of an open circuit is one probe at a time', () => {
    expect(paceOf(under({ reason: 'circuit_open' }), NOW)).toMatchObject({
      longestMs: 0,
      intervalMs: 30 * SECOND,
      reason: 'circuit_open',
    });
  });

  it.each([
    [0, 10 * SECOND],
    [MINUTE, 30 * SECOND],
    [24 * HOUR, 15 * MINUTE],
  ])('lets waiting deliveries ask more rarely in a longer episode: after %d ms, every %d ms', (ageMs, ms) => {
    const open = under({ reason: 'circuit_open', opensAt: NOW + ageMs });
    expect(paceOf(open, NOW)?.askAgainMs).toBe(ms);
  });

  it('lets them ask within three minutes at a learned rate, however long the episode', () => {
    const throttled = under({ perSecond: 5, learned: true, since: NOW - 24 * HOUR });
    expect(paceOf(throttled, NOW)?.askAgainMs).toBe(3 * MINUTE);
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
          subscription = after(kind, subscription, now);
          const next = paceOf(subscription, now)?.epoch ?? '';
          if (kind !== 'wait' && kind !== 'answer') expect(next > epoch).toBe(true);
          expect(next >= epoch).toBe(true);
          epoch = next;
        }
      }),
    );
  });

  const after = (kind: string, current: Subscription, now: number): Subscription => {
    switch (kind) {
      case 'refuse':
        return made(refuse(current, now), current);
      case 'down':
        return made(findDown(current, now, { isTripped: true }), current);
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
