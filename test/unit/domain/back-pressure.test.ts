import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  paceOf,
  type Pressure,
  pressureAt,
  rateAt,
} from '../../../shared/domain/subscription/back-pressure.ts';
import {
  pressureAfterAnswer,
  pressureAfterOutage,
  pressureAfterRefusal,
  type PressureChange,
  pressureSignalOf,
} from '../../../shared/domain/subscription/pressure-changes.ts';
import { asEnabled, moveTo } from '../../../shared/domain/subscription/change.ts';
import { applyHealthChange, healthChangeHolds } from '../../../shared/domain/subscription/health.ts';
import { withLimitDated } from '../../../shared/domain/subscription/rate-limit.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { aBarePolicy, aSubscription } from '../../support/builders.ts';
import { SOME_TIME } from '../../support/delivery-builders.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const NOW = SOME_TIME;

const policy = aBarePolicy({ maximum_delay_retries: 2, maximum_delay: 40 });

const under = (pressure: Partial<Pressure>, more: Partial<Subscription> = {}): Subscription =>
  aSubscription({
    pressure: { reason: 'receiver_throttled', since: NOW, at: NOW, opensAt: NOW, ...pressure },
    ...more,
  });

const refuse = (subscription: Subscription, now: number, retryAfterMs = 0): PressureChange =>
  pressureAfterRefusal(subscription, { startedAt: now, now, retryAfterMs });

type Down = Partial<Parameters<typeof pressureAfterOutage>[1]>;

const findDown = (subscription: Subscription, now: number, more: Down = {}) =>
  pressureAfterOutage(subscription, {
    startedAt: now,
    now,
    isTripped: false,
    nextAttempt: { dueAt: now + 20 * SECOND },
    policy,
    retryAfterCapMs: HOUR,
    ...more,
  });

const answer = (subscription: Subscription, now: number) =>
  pressureAfterAnswer(subscription, { startedAt: now, now });

const made = (change: PressureChange | undefined, subscription: Subscription): Subscription => {
  if (change === undefined) return subscription;
  expect(healthChangeHolds(subscription, change)).toBe(true);
  const { unsent: _, ...rest } = applyHealthChange(change, subscription);
  return rest;
};

describe('what a reply says about the subscriber', () => {
  const answered = (statusCode: number, retryAfter?: string) =>
    pressureSignalOf({ kind: 'answered', statusCode, ...(retryAfter !== undefined && { retryAfter }) });

  it('is that it throttles for a 429, and for a 503 that asks to wait', () => {
    for (const signal of [answered(429), answered(429, '2'), answered(503, '2')])
      expect(signal).toBe('throttled');
  });

  it('is that it is down for 502, 503 and 504, a timeout and a refused connection', () => {
    for (const statusCode of [502, 503, 504]) expect(answered(statusCode)).toBe('down');
    expect(answered(502, '2')).toBe('down');
    for (const error of ['timeout', 'connection_refused'] as const)
      expect(pressureSignalOf({ kind: 'unanswered', error })).toBe('down');
  });

  it('is that it is up for every other answer, even an error', () => {
    for (const statusCode of [200, 301, 404, 410, 500, 501, 599]) expect(answered(statusCode)).toBe('up');
  });

  it('is nothing for faults of names, certificates and connections, and for a forbidden address', () => {
    for (const error of ['dns_failed', 'tls_failed', 'connection_reset', 'invalid_response'] as const)
      expect(pressureSignalOf({ kind: 'unanswered', error })).toBeUndefined();
    expect(pressureSignalOf({ kind: 'forbidden' })).toBeUndefined();
  });
});

describe('the first refusal', () => {
  it('closes the line until the time that the subscriber asks for, then starts at one request a second', () => {
    const throttled = made(refuse(aSubscription(), NOW, 7 * SECOND), aSubscription());
    expect(throttled.pressure).toEqual({
      reason: 'receiver_throttled',
      since: NOW,
      at: NOW,
      opensAt: NOW + 7 * SECOND,
      perSecond: 1,
    });
    expect(paceOf(throttled, NOW)).toMatchObject({
      opensAt: NOW + 7 * SECOND,
      reason: 'receiver_throttled',
    });
  });

  it('closes the line for a second if the subscriber names no time', () => {
    expect(refuse(aSubscription(), NOW).pressure.opensAt).toBe(NOW + SECOND);
  });

  it('notifies operators', () => {
    const since = NOW;
    const until = NOW + 7 * SECOND;
    const event = { type: 'subscription.slowed', reason: 'receiver_throttled', since, until };
    expect(refuse(aSubscription(), NOW, 7 * SECOND).unsent).toEqual({ event, at: NOW });
  });

  it('doubles the rate every four seconds once the line is open', () => {
    const { pressure } = refuse(aSubscription(), NOW);
    const rates = [0, 1, 5, 9, 13].map((seconds) => rateAt(pressure, NOW + seconds * SECOND));
    expect(rates).toEqual([1, 1, 2, 4, 8]);
  });
});

describe('a further refusal', () => {
  const slowStart = under({ perSecond: 1 });

  it('after the rate has doubled continues with 85 % of the rate that the request had', () => {
    // The request reserved its slot up to two seconds earlier, at eight a second.
    const change = refuse(slowStart, NOW + 14 * SECOND, 2 * SECOND);
    expect(change.pressure).toMatchObject({ perSecond: 6.8, learned: true, since: NOW });
    expect(change.unsent).toBeUndefined();
  });

  it('of a learned rate continues with 85 % of that, which doubles in three minutes', () => {
    const learned = under({ perSecond: 4, learned: true });
    const { pressure } = refuse(learned, NOW + 3 * MINUTE);
    expect(pressure).toMatchObject({ perSecond: 6.8, learned: true });
  });

  it('does not take a rate above max_per_second for the one that was refused', () => {
    const limited = under({ perSecond: 4, learned: true }, { options: { max_per_second: 2 } });
    expect(refuse(limited, NOW + 3 * MINUTE).pressure.perSecond).toBe(1.7);
  });

  it('soon after the line opened halves the start, because it says little about the rate', () => {
    const { pressure } = refuse(slowStart, NOW + 2 * SECOND);
    expect(pressure).toMatchObject({ perSecond: 0.5, opensAt: NOW + 4 * SECOND });
    expect(pressure).not.toHaveProperty('learned');
  });

  it('never leads below one request in ten seconds, and keeps that interval', () => {
    const slowest = under({ perSecond: 0.1 });
    const { pressure } = refuse(slowest, NOW);
    expect(pressure).toMatchObject({ perSecond: 0.1, opensAt: NOW + 10 * SECOND });
  });
});

describe('a request that finds the subscriber down', () => {
  it('changes nothing before the latest results trip the circuit', () => {
    expect(findDown(aSubscription(), NOW)).toBeUndefined();
  });

  it('opens the tripped circuit until its delivery is due again, and notifies operators', () => {
    const change = findDown(aSubscription(), NOW, { isTripped: true });
    const opensAt = NOW + 20 * SECOND;
    expect(change?.pressure).toEqual({ reason: 'circuit_open', since: NOW, at: NOW, opensAt });
    expect(change?.unsent?.event).toEqual({
      type: 'subscription.slowed',
      reason: 'circuit_open',
      since: NOW,
      until: opensAt,
    });
  });

  it.each([
    ['a second for a retry at once', { nextAttempt: { dueAt: NOW } }, SECOND],
    ['the last delay of an exhausted policy', { nextAttempt: undefined }, 40 * SECOND],
    ['the cap of Retry-After', { nextAttempt: { dueAt: NOW + 2 * HOUR } }, HOUR],
    ['a second without any retry', { nextAttempt: undefined, policy: aBarePolicy() }, SECOND],
  ])('waits for the probe: %s', (_, more, ms) => {
    const change = findDown(aSubscription(), NOW, { isTripped: true, ...more });
    expect(change?.pressure.opensAt).toBe(NOW + ms);
  });

  const open = under({ reason: 'circuit_open' });

  it('as a probe keeps the circuit open without notifying again', () => {
    const change = findDown(open, NOW + 5 * SECOND);
    expect(change?.pressure).toEqual({
      reason: 'circuit_open',
      since: NOW,
      at: NOW + 5 * SECOND,
      opensAt: NOW + 25 * SECOND,
    });
    expect(change?.unsent).toBeUndefined();
  });

  it('as a probe waits at least a tenth of the outage, however eager its policy', () => {
    const change = findDown(open, NOW + 10 * MINUTE, { nextAttempt: { dueAt: NOW + 10 * MINUTE } });
    expect(change?.pressure.opensAt).toBe(NOW + 11 * MINUTE);
  });

  it('in a ramp opens the circuit again only if the latest results trip it', () => {
    const ramp = under({ reason: 'circuit_open', perSecond: 1 });
    expect(findDown(ramp, NOW + SECOND)).toBeUndefined();
    const change = findDown(ramp, NOW + SECOND, { isTripped: true });
    expect(change?.pressure).not.toHaveProperty('perSecond');
    expect(change?.unsent).toBeUndefined();
  });

  it('while it throttled notifies of the new reason', () => {
    const change = findDown(under({ perSecond: 4, learned: true }), NOW, { isTripped: true });
    expect(change?.unsent?.event).toMatchObject({ reason: 'circuit_open' });
  });
});

describe('an answer', () => {
  it('changes nothing without pressure, nor while the rate still grows', () => {
    expect(answer(aSubscription(), NOW)).toBeUndefined();
    expect(answer(under({ perSecond: 4, learned: true }), NOW + MINUTE)).toBeUndefined();
  });

  it('to a probe closes the circuit and begins a ramp that doubles every ten seconds', () => {
    const open = under({ reason: 'circuit_open', opensAt: NOW + MINUTE });
    const change = answer(open, NOW + MINUTE);
    expect(change?.unsent).toBeUndefined();
    const ramp = made(change, open);
    expect(ramp.pressure).toMatchObject({ reason: 'circuit_open', since: NOW, perSecond: 1 });
    const rates = [0, 10, 20].map(
      (seconds) => ramp.pressure && rateAt(ramp.pressure, NOW + MINUTE + seconds * SECOND),
    );
    expect(rates).toEqual([1, 2, 4]);
  });

  it('after the end of an episode ends it once and notifies operators', () => {
    const quiet = under({ perSecond: 4, learned: true });
    const now = NOW + 10 * MINUTE;
    const change = answer(quiet, now);
    const event = { type: 'subscription.resumed', reason: 'receiver_throttled', since: NOW, at: now };
    expect(change?.unsent).toEqual({ event, at: now });
    const resumed = made(change, quiet);
    expect(pressureAt(resumed, now)).toBeUndefined();
    expect(answer(resumed, now)).toBeUndefined();
    expect(healthChangeHolds(resumed, change ?? expect.fail())).toBe(false);
  });
});

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
