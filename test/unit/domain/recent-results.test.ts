import { describe, expect, it } from 'vitest';
import {
  answeredPerSecond,
  isCircuitTripped,
  type PressureSignal,
  pressureSignalOf,
  type RecentResults,
  withResult,
} from '../../../shared/domain/subscription/recent-results.ts';
import type { Pressure } from '../../../shared/domain/subscription/subscription.ts';

const RULES = { circuitRequests: 10, circuitFailurePercent: 70, circuitWindowMs: 30_000 };

type Step = { signal: PressureSignal; messageId?: string; at?: number; version?: number };

/** The results of requests, each of another delivery. `version`: of a pressure. */
const resultsOf = (steps: readonly Step[]): RecentResults | undefined =>
  steps.reduce<RecentResults | undefined>(
    (known, { signal, messageId = '', at = 0, version = 0 }, index) =>
      withResult(known, { signal, messageId: messageId || `m-${index}`, now: at, version }, RULES),
    undefined,
  );

const times = (count: number, step: Step): Step[] => Array.from({ length: count }, () => step);

const isTripped = (steps: readonly Step[], pressure?: Pressure): boolean =>
  isCircuitTripped((resultsOf(steps) ?? expect.fail()).latest, pressure, RULES);

const DOWN: Step = { signal: 'down' };
const UP: Step = { signal: 'up' };
const ramp = (at: number): Pressure => ({ reason: 'circuit_open', since: 0, at, opensAt: 0, perSecond: 2 });

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

describe('the latest results open a circuit', () => {
  it('if at least ten deliveries failed', () => {
    expect(isTripped(times(9, DOWN))).toBe(false);
    expect(isTripped(times(10, DOWN))).toBe(true);
  });

  it('if at least 70 % failed', () => {
    expect(isTripped([...times(7, DOWN), ...times(3, UP)])).toBe(true);
    expect(isTripped([...times(7, DOWN), ...times(4, UP)])).toBe(false);
  });

  it('counted from the first failure on', () => {
    expect(isTripped([...times(100, UP), ...times(10, DOWN)])).toBe(true);
  });

  it('counting each delivery once, by its last result', () => {
    expect(isTripped(times(20, { ...DOWN, messageId: 'm' }))).toBe(false);
    const others = times(9, DOWN);
    expect(isTripped([{ ...UP, messageId: 'm' }, ...others, { ...DOWN, messageId: 'm' }])).toBe(true);
    expect(isTripped([{ ...DOWN, messageId: 'm' }, ...times(6, DOWN), ...times(3, UP)])).toBe(true);
    const recovered = [
      { ...DOWN, messageId: 'm' },
      ...times(6, DOWN),
      ...times(3, UP),
      { ...UP, messageId: 'm' },
    ];
    expect(isTripped(recovered)).toBe(false);
  });

  it('within the window', () => {
    const later = (at: number) => [...times(9, DOWN), { ...DOWN, at }];
    expect(isTripped(later(29_999))).toBe(true);
    expect(isTripped(later(30_000))).toBe(false);
  });

  it('of the last twenty', () => {
    expect(isTripped([...times(14, DOWN), ...times(6, UP)])).toBe(true);
    expect(isTripped([...times(30, DOWN), ...times(7, UP)])).toBe(false);
  });

  it('of at most the last two hundred, so that they take little memory, and then a hundred are enough', () => {
    const rules = { ...RULES, circuitRequests: 1_000 };
    const results = Array.from({ length: 300 }, (_, index) => `m-${index}`).reduce<RecentResults | undefined>(
      (known, messageId) => withResult(known, { messageId, signal: 'down', now: 0, version: 0 }, rules),
      undefined,
    );
    const { latest } = results ?? expect.fail();
    expect(latest).toHaveLength(200);
    expect(isCircuitTripped(latest.slice(-99), undefined, rules)).toBe(false);
    expect(isCircuitTripped(latest.slice(-100), undefined, rules)).toBe(true);
  });

  it('only if their requests were sent under the pressure in force', () => {
    const late = times(10, { ...DOWN, version: 6 });
    expect(isTripped([{ ...DOWN, version: 7 }, ...late])).toBe(false);
    expect(isTripped([...times(9, DOWN), { ...DOWN, version: 7 }])).toBe(false);
  });

  it('in a ramp if the first three failed', () => {
    const inRamp = (...signals: PressureSignal[]) =>
      isTripped(
        signals.map((signal) => ({ signal, version: 7 })),
        ramp(7),
      );
    expect(inRamp('down', 'down', 'down')).toBe(true);
    expect(inRamp('down', 'down')).toBe(false);
    expect(inRamp('up', 'down', 'down', 'down')).toBe(false);
    expect(isTripped(times(3, { ...DOWN, version: 7 }), { ...ramp(7), reason: 'receiver_throttled' })).toBe(
      false,
    );
  });
});

describe('the rate that a subscriber lately answered', () => {
  const rate = (steps: readonly Step[], now: number): number =>
    answeredPerSecond(resultsOf(steps) ?? expect.fail(), now);

  /** A hundred a second for a minute. */
  const steady = Array.from({ length: 6_000 }, (_, index) => ({ ...UP, at: 10 * index }));

  it('is that of a steady one', () => {
    expect(rate(steady, 60_000)).toBeCloseTo(100, 0);
  });

  it('is forgotten within a minute', () => {
    expect(rate(steady, 120_000)).toBeLessThan(1);
  });

  it('is low for a burst', () => {
    expect(rate(times(5, UP), 0)).toBeCloseTo(0.5);
  });

  it('does not count refusals and outages', () => {
    expect(rate([UP, { signal: 'throttled' }, DOWN], 0)).toBeCloseTo(0.1);
  });

  it('stays a number where the clock is set back by a day, and is then forgotten as usual', () => {
    const back = [...steady, { ...UP, at: -86_400_000 }];
    expect(rate(back, -86_400_000)).toBeCloseTo(100, 0);
    expect(rate(back, -86_340_000)).toBeLessThan(1);
  });

  it('lasts across versions of the pressure', () => {
    expect(rate([...steady, { signal: 'throttled', version: 7, at: 60_000 }], 60_000)).toBeCloseTo(100, 0);
  });
});
