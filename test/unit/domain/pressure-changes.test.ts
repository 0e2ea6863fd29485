import { describe, expect, it } from 'vitest';
import { paceOf, pressureAt, rateAt } from '../../../shared/domain/subscription/back-pressure.ts';
import { healthChangeHolds } from '../../../shared/domain/subscription/health.ts';
import { aBarePolicy, aSubscription } from '../../support/builders.ts';
import { SOME_TIME } from '../../support/delivery-builders.ts';
import { answer, findDown, made, refuse, TRIPPED, under } from '../../support/pressure.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const NOW = SOME_TIME;

describe('the first refusal', () => {
  it('closes the line until the time that the subscriber asks for, then starts at two requests a second', () => {
    const throttled = made(refuse(aSubscription(), NOW, { retryAfterMs: 7 * SECOND }), aSubscription());
    expect(throttled.pressure).toEqual({
      reason: 'receiver_throttled',
      since: NOW,
      at: NOW,
      opensAt: NOW + 7 * SECOND,
      perSecond: 2,
    });
    expect(paceOf(throttled, NOW)).toMatchObject({
      opensAt: NOW + 7 * SECOND,
      reason: 'receiver_throttled',
    });
  });

  it.each([
    [1_000, 500],
    [10, 5],
    [3, 2],
    [9_000, 500],
  ])('of a subscriber that answered %d a second starts at %d', (answered, perSecond) => {
    expect(refuse(aSubscription(), NOW, { answeredPerSecond: answered }).pressure.perSecond).toBe(perSecond);
  });

  it('closes the line for a second if the subscriber names no time', () => {
    expect(refuse(aSubscription(), NOW).pressure.opensAt).toBe(NOW + SECOND);
  });

  it('notifies operators', () => {
    const since = NOW;
    const until = NOW + 7 * SECOND;
    const event = { type: 'subscription.slowed', reason: 'receiver_throttled', since, until };
    expect(refuse(aSubscription(), NOW, { retryAfterMs: 7 * SECOND }).unsent).toEqual({ event, at: NOW });
  });

  it('doubles the rate every four seconds once the line is open', () => {
    const { pressure } = refuse(aSubscription(), NOW);
    const rates = [0, 1, 5, 9, 13].map((seconds) => rateAt(pressure, NOW + seconds * SECOND));
    expect(rates).toEqual([2, 2, 4, 8, 16]);
  });
});

describe('a further refusal', () => {
  const ramp = under({ perSecond: 1 });

  it('after the rate has doubled continues with 85 % of the rate that the request had', () => {
    // The request reserved its slot up to two seconds earlier, at eight a second.
    const change = refuse(ramp, NOW + 14 * SECOND);
    expect(change.pressure).toMatchObject({ perSecond: 6.8, learned: true, since: NOW });
    expect(change.unsent).toBeUndefined();
  });

  it('of a learned rate continues with 85 % of that, which doubles in three minutes', () => {
    const learned = under({ perSecond: 4, learned: true });
    const { pressure } = refuse(learned, NOW + 3 * MINUTE);
    expect(pressure).toMatchObject({ perSecond: 6.8, learned: true });
  });

  it('of a learned rate that grew for long continues with at most twice that, as slots were reserved before', () => {
    const learned = under({ perSecond: 4, learned: true });
    expect(refuse(learned, NOW + 9 * MINUTE).pressure.perSecond).toBe(6.8);
  });

  it('does not take a rate above max_per_second for the one that was refused', () => {
    const options = { max_per_second: 1.6 };
    for (const pressure of [{ perSecond: 4, learned: true }, { perSecond: 1 }] as const)
      expect(refuse(under(pressure, { options }), NOW + 20 * SECOND).pressure).toMatchObject({
        perSecond: 1.36,
        learned: true,
      });
  });

  it('soon after the line opened halves the start, because it says little about the rate', () => {
    const { pressure } = refuse(ramp, NOW + 2 * SECOND);
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
    const change = findDown(aSubscription(), NOW, TRIPPED);
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
    ['a minute for a retry in hours', { nextAttempt: { dueAt: NOW + 2 * HOUR } }, MINUTE],
    ['a second without any retry', { nextAttempt: undefined, policy: aBarePolicy() }, SECOND],
  ])('waits for the probe: %s', (_, more, ms) => {
    const change = findDown(aSubscription(), NOW, { ...TRIPPED, ...more });
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
    const lasting = under({ reason: 'circuit_open', opensAt: NOW + 9 * MINUTE });
    const change = findDown(lasting, NOW + 10 * MINUTE, { nextAttempt: { dueAt: NOW + 10 * MINUTE } });
    expect(change?.pressure.opensAt).toBe(NOW + 11 * MINUTE);
  });

  it('as a probe waits no longer than Retry-After may ask for, however long the outage', () => {
    const lasting = under({ reason: 'circuit_open', opensAt: NOW + 24 * HOUR });
    const change = findDown(lasting, NOW + 24 * HOUR);
    expect(change?.pressure.opensAt).toBe(NOW + 25 * HOUR);
  });

  it('as a probe after a long time without messages begins a new episode', () => {
    const now = NOW + 48 * 60 * MINUTE;
    expect(findDown(open, now)?.pressure).toMatchObject({ since: now, opensAt: now + 20 * SECOND });
  });

  it('in a ramp opens the circuit again only if the latest results trip it', () => {
    const ramp = under({ reason: 'circuit_open', perSecond: 1 });
    expect(findDown(ramp, NOW + SECOND)).toBeUndefined();
    const change = findDown(ramp, NOW + SECOND, TRIPPED);
    expect(change?.pressure).not.toHaveProperty('perSecond');
    expect(change?.unsent).toBeUndefined();
  });

  it('while it throttled notifies of the new reason, and begins an outage', () => {
    const now = NOW + 9 * MINUTE;
    const throttled = under({ perSecond: 4, learned: true });
    const change = findDown(throttled, now, { ...TRIPPED, nextAttempt: { dueAt: now } });
    expect(change?.unsent?.event).toMatchObject({ reason: 'circuit_open', since: now });
    expect(change?.pressure).toMatchObject({ since: now, opensAt: now + SECOND });
  });
});

describe('an answer', () => {
  it('changes nothing without pressure, nor while the rate still grows', () => {
    expect(answer(aSubscription(), NOW)).toBeUndefined();
    expect(answer(under({ perSecond: 4, learned: true }), NOW + MINUTE)).toBeUndefined();
  });

  it('to a probe closes the circuit and begins a ramp that doubles every four seconds', () => {
    const open = under({ reason: 'circuit_open', opensAt: NOW + MINUTE });
    const change = answer(open, NOW + MINUTE);
    expect(change?.unsent).toBeUndefined();
    const ramp = made(change, open);
    expect(ramp.pressure).toMatchObject({ reason: 'circuit_open', since: NOW, perSecond: 2 });
    const rates = [0, 4, 8].map(
      (seconds) => ramp.pressure && rateAt(ramp.pressure, NOW + MINUTE + seconds * SECOND),
    );
    expect(rates).toEqual([2, 4, 8]);
  });

  it('to a probe soon after the subscriber answered many begins at half of their rate', () => {
    expect(
      answer(under({ reason: 'circuit_open' }), NOW, { answeredPerSecond: 100 })?.pressure.perSecond,
    ).toBe(50);
  });

  it('to a probe opens the ramp no sooner than max_per_second allows another request', () => {
    const slow = under({ reason: 'circuit_open' }, { options: { max_per_second: 0.1 } });
    expect(answer(slow, NOW)?.pressure.opensAt).toBe(NOW + 10_500);
  });

  it('after the end of an episode ends it once and notifies operators', () => {
    const quiet = under({ perSecond: 4, learned: true });
    const now = NOW + 24 * MINUTE;
    const change = answer(quiet, now);
    const event = { type: 'subscription.resumed', reason: 'receiver_throttled', since: NOW, at: now };
    expect(change?.unsent).toEqual({ event, at: now });
    const resumed = made(change, quiet);
    expect(pressureAt(resumed, now)).toBeUndefined();
    expect(answer(resumed, now)).toBeUndefined();
    expect(healthChangeHolds(resumed, change ?? expect.fail())).toBe(false);
  });
});
