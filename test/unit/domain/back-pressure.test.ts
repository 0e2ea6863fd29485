import { parseDestination } from '../../../shared/domain/subscription/destination.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  paceOf,
  pressureAt,
  pressureSignalOf,
  RAMP_MS,
  type CountingWindow,
  countingStep,
  isOutdated,
  NO_COUNTS,
} from '../../../shared/domain/subscription/back-pressure.ts';
import { asEnabled, moveTo } from '../../../shared/domain/subscription/change.ts';
import {
  afterRequest,
  afterWindow,
  endOfPressure,
  type JudgedWindow,
  type PressureChange,
} from '../../../shared/domain/subscription/pressure-changes.ts';
import type { PressureState, Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { aSubscription } from '../../support/builders.ts';
import { SOME_TIME } from '../../support/delivery-builders.ts';
import { aSlowed, made, under } from '../../support/pressure.ts';

const SECOND = 1_000;
const MINUTE = 60_000;
const NOW = SOME_TIME + MINUTE;
const BOTH = { adaptToThrottling: true, holdWhileDown: true };
const ADAPT = { adaptToThrottling: true, holdWhileDown: false };
const HOLD = { adaptToThrottling: false, holdWhileDown: true };

const window = (counts: Partial<JudgedWindow>): JudgedWindow => {
  const { requests = 100, refused = 0, down = 0 } = counts;
  const answered = requests - Math.max(refused, down);
  return { deliveries: requests, requests, answered, refused, down, elapsedMs: 10 * SECOND, ...counts };
};

const judge = (
  state: PressureState,
  counts: Partial<JudgedWindow>,
  switches = BOTH,
): PressureChange | undefined => afterWindow(under(state), window(counts), switches, NOW);

const stateOf = (change: PressureChange | 'count' | undefined): string | undefined =>
  typeof change === 'object' ? change.pressure.state : change;

describe('a reply', () => {
  const answered = (statusCode: number, retryAfter?: string) =>
    ({ kind: 'answered', statusCode, ...(retryAfter !== undefined && { retryAfter }) }) as const;

  it.each([
    ['429', answered(429), 'refused'],
    ['503 with Retry-After', answered(503, '5'), 'closed'],
    ['503', answered(503), 'down'],
    ['502', answered(502), 'down'],
    ['504', answered(504), 'down'],
    ['a timeout', { kind: 'unanswered', error: 'timeout' }, 'down'],
    ['a refused connection', { kind: 'unanswered', error: 'connection_refused' }, 'down'],
    ['500', answered(500), 'answered'],
    ['200', answered(200), 'answered'],
    ['a name that is not found', { kind: 'unanswered', error: 'dns_failed' }, undefined],
    ['a forbidden address', { kind: 'forbidden' }, undefined],
  ] as const)('%s says %s', (_, reply, signal) => {
    expect(pressureSignalOf(reply)).toBe(signal);
  });
});

describe('a request', () => {
  it.each([
    ['a refusal', 'refused', ADAPT, 'watched'],
    ['a refusal without its switch', 'refused', HOLD, undefined],
    ['a failure', 'down', HOLD, 'watched'],
    ['a failure without its switch', 'down', ADAPT, undefined],
    ['a 503 with Retry-After', 'closed', ADAPT, 'watched'],
    ['an answer', 'answered', BOTH, undefined],
    ['nothing', undefined, BOTH, undefined],
  ] as const)('that finds %s is watched only if a switch asks for it', (_, signal, switches, state) => {
    expect(stateOf(afterRequest(aSubscription(), signal, switches, NOW))).toBe(state);
    expect(stateOf(afterRequest(under({ state: 'ended' }), signal, switches, NOW))).toBe(state);
  });

  it.each([
    ['an answer', 'answered', BOTH, 'ramping'],
    ['a 429', 'refused', BOTH, 'ramping'],
    ['a 503 with Retry-After', 'closed', BOTH, undefined],
    ['a 503 with Retry-After where no outage is held', 'closed', ADAPT, 'ramping'],
    ['a failure', 'down', BOTH, undefined],
    ['a name that is not found', undefined, BOTH, undefined],
  ] as const)(
    'that probes and finds %s begins the ramp, or changes nothing',
    (_, signal, switches, state) => {
      expect(stateOf(afterRequest(under({ state: 'held' }), signal, switches, NOW))).toBe(state);
    },
  );

  it('after a ramp ends the episode, and so does one after a change or an earlier version', () => {
    const ramping = under({ state: 'ramping', line: SOME_TIME });
    expect(stateOf(afterRequest(ramping, 'down', BOTH, SOME_TIME + RAMP_MS - 1))).toBe('count');
    const over = afterRequest(ramping, 'down', BOTH, Math.ceil(SOME_TIME + RAMP_MS));
    expect(over).toMatchObject({ pressure: { state: 'ended' } });
    expect(over).not.toHaveProperty('moveUpAt');
    const ending = under({ state: 'ending', reason: 'circuit_open' });
    expect(afterRequest(ending, 'down', BOTH, NOW)).toMatchObject({
      pressure: { state: 'ended' },
      moveUpAt: NOW,
      unsent: { event: { type: 'subscription.resumed', reason: 'circuit_open', since: SOME_TIME, at: NOW } },
    });
  });

  it('that announces its probe moves up what waits when the ramp is over', () => {
    const change = afterRequest(under({ state: 'held' }), 'answered', BOTH, NOW);
    expect(change).toMatchObject({ moveUpAt: Math.ceil(NOW + RAMP_MS) });
  });
});

describe('a window', () => {
  it.each([
    ['nine deliveries that all found it down', { requests: 9, down: 9 }, BOTH, 'watched'],
    ['ten deliveries that all found it down', { requests: 10, down: 10 }, BOTH, 'held'],
    ['twelve requests of three deliveries', { requests: 12, deliveries: 3, down: 12 }, BOTH, 'watched'],
    ['90 % down', { down: 90 }, HOLD, 'held'],
    ['89 % down', { down: 89 }, HOLD, 'watched'],
    ['90 % refused and none answered', { refused: 100 }, ADAPT, 'held'],
    ['99 % refused and one answered', { refused: 99 }, ADAPT, 'slowed'],
    ['11 % refused', { refused: 11 }, ADAPT, 'slowed'],
    ['10 % refused', { refused: 10 }, ADAPT, 'watched'],
    ['no failures', {}, BOTH, 'ended'],
  ] as const)('of %s is judged', (_, counts, switches, state) => {
    expect(stateOf(judge({ state: 'watched' }, counts, switches))).toBe(state);
  });

  it('slows down to what was answered, at least to one request in ten seconds', () => {
    expect(judge({ state: 'watched' }, { refused: 50 })).toMatchObject({
      pressure: { state: 'slowed', perSecond: 4.5, askAgainMs: 10_000 },
      unsent: { event: { type: 'subscription.slowed', reason: 'receiver_throttled', since: NOW } },
    });
    const none = { requests: 20, refused: 12, down: 8, answered: 0 };
    expect(judge({ state: 'watched' }, none)).toMatchObject({ pressure: { perSecond: 0.1 } });
  });

  it.each([
    ['used, few refused', { requests: 40, refused: 1 }, { perSecond: 4.2, askAgainMs: 50_000 }],
    ['used, some refused', { requests: 40, refused: 3 }, { perSecond: 4, askAgainMs: 50_000 }],
    ['unused', { requests: 31 }, { perSecond: 4, askAgainMs: 20_000 }],
    ['used, many refused', { requests: 40, refused: 5 }, { perSecond: 3.15, askAgainMs: 40_000 }],
  ])('of a slowed subscription: %s', (_, counts, after) => {
    const change = judge(aSlowed({ askAgainMs: 40_000 }), counts);
    expect(change?.pressure).toMatchObject({ state: 'slowed', since: SOME_TIME, ...after });
    expect(change).not.toHaveProperty('unsent');
  });

  it('keeps the line while the rate grows, and begins another one when it falls', () => {
    expect(judge(aSlowed(), { requests: 40 })?.pressure).toMatchObject({ line: SOME_TIME });
    expect(judge(aSlowed(), { requests: 40, refused: 20 })?.pressure).toMatchObject({ line: NOW });
  });

  it('ends the episode when the rate no longer limits, and lets what waits come by and by', () => {
    for (const change of [
      judge(aSlowed(), { requests: 31 }),
      judge(aSlowed({ perSecond: 990 }), { requests: 9_900 }),
    ]) {
      expect(change).toMatchObject({
        pressure: { state: 'ended' },
        unsent: { event: { type: 'subscription.resumed' } },
      });
      expect(change).not.toHaveProperty('moveUpAt');
    }
  });

  it('keeps a ramp, which a window of failures ends', () => {
    const ramping = { state: 'ramping', line: SOME_TIME } as const;
    expect(judge(ramping, { down: 50 })?.pressure).toMatchObject(ramping);
    expect(judge(ramping, { down: 95 })?.pressure).toMatchObject({ state: 'held', since: SOME_TIME });
  });

  it('is closed when it has enough requests, or at the latest after a minute', () => {
    const counts = { ...NO_COUNTS, requests: 1 };
    const found = (requests: number, writes = 1): CountingWindow => ({
      ...NO_COUNTS,
      requests,
      writes,
      version: 5,
    });
    expect(countingStep(undefined, 5, counts, 0)).toBe('add');
    expect(countingStep(found(48), 5, counts, 10 * SECOND)).toBe('add');
    expect(countingStep(found(49), 5, counts, 10 * SECOND)).toBe('judge');
    expect(countingStep(found(49), 5, counts, 9 * SECOND)).toBe('add');
    expect(countingStep(found(1), 5, counts, MINUTE)).toBe('judge');
    expect(countingStep(found(99), 6, counts, 10 * SECOND)).toBe('add');
    expect(countingStep(found(99), 4, counts, 10 * SECOND)).toBe('drop');
    expect(countingStep(found(10, 39), 5, counts, SECOND)).toBe('add');
    expect(countingStep(found(10, 40), 5, counts, SECOND)).toBe('keep');
    expect([2 * MINUTE - 1, 2 * MINUTE].map(isOutdated)).toEqual([false, true]);
  });
});

describe('the pace under pressure', () => {
  it('is that of the state, and never above max_per_second', () => {
    const limited = { options: { max_per_second: 2 } };
    expect(paceOf(under(aSlowed()), NOW)?.intervalMs).toBe(250);
    expect(paceOf(under(aSlowed(), limited), NOW)?.intervalMs).toBe(500);
    const ramping = under({ state: 'ramping', line: SOME_TIME });
    const rates = [0, 2, 4].map((seconds) => paceOf(ramping, SOME_TIME + seconds * SECOND)?.intervalMs);
    expect(rates.map((ms = 0) => Math.round(SECOND / ms))).toEqual([10, 20, 40]);
    expect(paceOf(ramping, Math.ceil(SOME_TIME + RAMP_MS))).toBeUndefined();
  });

  it('has one slot for a probe, and the next one after the time that its request may take', () => {
    const timeouts = [undefined, 15 * SECOND, 5 * SECOND];
    expect(timeouts.map((timeout) => paceOf(under({ state: 'held' }), NOW, timeout))).toMatchObject([
      { intervalMs: 30_400, longestMs: 0 },
      { intervalMs: 15_400, longestMs: 0 },
      { intervalMs: 10_400, longestMs: 0 },
    ]);
  });

  it.each(['watched', 'ended'] as const)('is free while it is %s, and for a pull subscription', (state) => {
    expect(paceOf(under({ state }), NOW)).toBeUndefined();
    expect(paceOf(under({ state: 'held' }, { destination: parseDestination('pull:') }), NOW)).toBeUndefined();
  });

  it('lets deliveries ask for a probe the more seldom, the longer it lasts', () => {
    const held = under({ state: 'held' });
    const asked = [0, 30 * SECOND, 10 * MINUTE, 60 * MINUTE].map(
      (ms) => paceOf(held, SOME_TIME + ms)?.askAgainMs,
    );
    expect(asked).toEqual([10 * SECOND, 15 * SECOND, 5 * MINUTE, 15 * MINUTE]);
  });

  it('has an epoch after those of all earlier lines, in any order of changes', () => {
    const happening = fc.constantFrom('refused', 'down', 'answered', 'enable', 'move', 'throttled', 'outage');
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 30 }), (happenings) => {
        let subscription = aSubscription();
        let [now, last] = [SOME_TIME, ''];
        for (const what of happenings) {
          now += 1;
          subscription = afterHappening(what, subscription, now);
          const epoch = paceOf(subscription, now)?.epoch ?? last;
          expect(epoch >= last).toBe(true);
          last = epoch;
        }
      }),
    );
  });

  it('ends with a change of the subscriber, and operators hear of it from the next request', () => {
    const moved = moveTo(parseDestination('https://other.test/'), under(aSlowed()), NOW);
    expect(moved.pressure).toMatchObject({ state: 'ending', reason: 'receiver_throttled', since: SOME_TIME });
    expect(pressureAt(moved, NOW)).toBeUndefined();
    expect(
      moveTo(parseDestination('https://other.test/'), under({ state: 'watched' }), NOW),
    ).not.toHaveProperty('pressure');
    expect(endOfPressure(under({ state: 'ended' }), NOW)).toBeUndefined();
    expect(endOfPressure(under({ state: 'held' }), NOW)).toMatchObject({ moveUpAt: NOW });
  });
});

const afterHappening = (what: string, subscription: Subscription, now: number): Subscription => {
  switch (what) {
    case 'enable':
      return asEnabled(subscription, now);
    case 'move':
      return moveTo(parseDestination(`https://${now}.test/`), subscription, now);
    case 'throttled':
      return afterJudging({ refused: 50 }, subscription, now);
    case 'outage':
      return afterJudging({ down: 100 }, subscription, now);
    case 'refused':
    case 'down':
    case 'answered': {
      const change = afterRequest(subscription, what, BOTH, now);
      return change === undefined || change === 'count' ? subscription : made(change, subscription);
    }
    default:
      return expect.fail(what);
  }
};

const afterJudging = (
  counts: Partial<JudgedWindow>,
  subscription: Subscription,
  now: number,
): Subscription => {
  const { pressure } = subscription;
  const change = pressure && afterWindow({ ...subscription, pressure }, window(counts), BOTH, now);
  return change === undefined ? subscription : made(change, subscription);
};
