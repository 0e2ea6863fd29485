import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  computePace,
  countingStep,
  type CountingWindow,
  isOutdated,
  NO_COUNTS,
  pressureAt,
  RAMP_MS,
  toPressureSignal,
} from '../../../shared/domain/subscription/back-pressure.ts';
import { asEnabled, moveTo } from '../../../shared/domain/subscription/change.ts';
import { parseDestination } from '../../../shared/domain/subscription/destination.ts';
import {
  afterRequest,
  afterWindow,
  endOfPressure,
  type JudgedWindow,
  type PressureChange,
} from '../../../shared/domain/subscription/pressure-changes.ts';
import {
  canReturnSlot,
  classifySlot,
  computeRateLimit,
  findSlots,
  isActiveLine,
  type Line,
  lineStart,
  mostTogether,
  type RateLimit,
  SLOT_VALID_MS,
  slotIntervalMs,
  slotsFrom,
  spreadOut,
  withLimitDated,
} from '../../../shared/domain/subscription/rate-limit.ts';
import type { PressureState, Subscription } from '../../../shared/domain/subscription/subscription.ts';
import {
  choosePaceSwitches,
  isSwitchedOn,
  switchesOfDeployment,
} from '../../../shared/domain/subscription/switches.ts';
import { aQueue, aSubscription } from '../../support/builders.ts';
import { SOME_TIME } from '../../support/delivery-builders.ts';
import { aSlowed, made, under } from '../../support/pressure.ts';

const SECOND = 1_000;
const MINUTE = 60_000;
const NOW = SOME_TIME + MINUTE;
const BOTH = { adaptToThrottling: true, holdWhileDown: true };
const ADAPT = { adaptToThrottling: true, holdWhileDown: false };
const HOLD = { adaptToThrottling: false, holdWhileDown: true };
const OFF = { adaptToThrottling: false, holdWhileDown: false };

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
    expect(toPressureSignal(reply)).toBe(signal);
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

  it.each<[string, Partial<CountingWindow> | undefined, number, string]>([
    ['does not exist yet', undefined, 0, 'add'],
    ['has 49 requests', { requests: 48 }, 10 * SECOND, 'add'],
    ['has fifty requests', { requests: 49 }, 10 * SECOND, 'judge'],
    ['has fifty requests within ten seconds', { requests: 49 }, 9 * SECOND, 'add'],
    ['is a minute old', { requests: 1 }, MINUTE, 'judge'],
    ['is of an earlier version', { requests: 99, version: 4 }, 10 * SECOND, 'add'],
    ['is of a later version', { requests: 99, version: 6 }, 10 * SECOND, 'drop'],
    ['was written 39 times', { requests: 10, writes: 39 }, SECOND, 'add'],
    ['was written forty times', { requests: 10, writes: 40 }, SECOND, 'keep'],
  ])('that %s: %o', (_what, found, elapsedMs, step) => {
    const window = found && { ...NO_COUNTS, writes: 1, version: 5, ...found };
    expect(countingStep(window, 5, { ...NO_COUNTS, requests: 1 }, elapsedMs)).toBe(step);
  });

  it('is outdated after two minutes', () => {
    expect([2 * MINUTE - 1, 2 * MINUTE].map(isOutdated)).toEqual([false, true]);
  });
});

describe('the pace under pressure', () => {
  it('is that of the state, and never above max_per_second', () => {
    const limited = { options: { max_per_second: 2 } };
    expect(computePace(under(aSlowed()), NOW)?.intervalMs).toBe(250);
    expect(computePace(under(aSlowed(), limited), NOW)?.intervalMs).toBe(500);
    const ramping = under({ state: 'ramping', line: SOME_TIME });
    const rates = [0, 2, 4].map((seconds) => computePace(ramping, SOME_TIME + seconds * SECOND)?.intervalMs);
    expect(rates.map((ms = 0) => Math.round(SECOND / ms))).toEqual([10, 20, 40]);
    expect(computePace(ramping, Math.ceil(SOME_TIME + RAMP_MS))).toBeUndefined();
  });

  it('has one slot for a probe, and the next one after the time that its request may take', () => {
    const timeouts = [undefined, 15 * SECOND, 5 * SECOND];
    expect(timeouts.map((timeout) => computePace(under({ state: 'held' }), NOW, timeout))).toMatchObject([
      { intervalMs: 30_400, longestMs: 0 },
      { intervalMs: 15_400, longestMs: 0 },
      { intervalMs: 10_400, longestMs: 0 },
    ]);
  });

  it.each(['watched', 'ended'] as const)('is free while it is %s, and for a pull subscription', (state) => {
    expect(computePace(under({ state }), NOW)).toBeUndefined();
    expect(
      computePace(under({ state: 'held' }, { destination: parseDestination('pull:') }), NOW),
    ).toBeUndefined();
  });

  it('lets deliveries ask for a probe the more seldom, the longer it lasts', () => {
    const held = under({ state: 'held' });
    const asked = [0, 30 * SECOND, 10 * MINUTE, 60 * MINUTE].map(
      (ms) => computePace(held, SOME_TIME + ms)?.askAgainMs,
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
          const epoch = computePace(subscription, now)?.epoch ?? last;
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

type Given = { options?: object; metadata?: Record<string, unknown>; deployment: typeof OFF };

const switchesOf = ({ options = {}, metadata = {}, deployment }: Given) =>
  choosePaceSwitches({ subscription: aSubscription({ options }), queue: aQueue({ metadata }) }, deployment);

describe('the switches of back-pressure', () => {
  it.each<[string, Given, typeof OFF]>([
    ['nothing is set', { deployment: OFF }, OFF],
    ['the deployment sets them', { deployment: BOTH }, BOTH],
    ['the queue turns one off', { metadata: { _hold_while_down: false }, deployment: BOTH }, ADAPT],
    ['the queue turns one on', { metadata: { _adapt_to_throttling: true }, deployment: OFF }, ADAPT],
    ['the queue has an invalid value', { metadata: { _hold_while_down: 'yes' }, deployment: BOTH }, BOTH],
    ['the subscription turns one on', { options: { hold_while_down: true }, deployment: OFF }, HOLD],
    [
      'the subscription turns one off that its queue and the deployment set',
      {
        options: { adapt_to_throttling: false },
        metadata: { _adapt_to_throttling: true, _hold_while_down: true },
        deployment: BOTH,
      },
      HOLD,
    ],
  ])('the nearest switch wins: %s', (_, given, expected) => {
    expect(switchesOf(given)).toEqual(expected);
  });

  it.each([
    [{ backPressure: false }, OFF],
    [{ backPressure: true }, BOTH],
    [{ backPressure: true, adaptToThrottling: false }, HOLD],
    [{ backPressure: false, holdWhileDown: true }, HOLD],
  ])('of a deployment: a switch that is set wins over their former name, %o', (given, expected) => {
    expect(switchesOfDeployment(given)).toEqual(expected);
  });

  it('are those of the deployment where the queue is unknown', () => {
    const subscription = aSubscription();
    expect(choosePaceSwitches({ subscription, queue: undefined }, BOTH)).toEqual(BOTH);
  });

  it.each([
    [aSlowed(), true, false],
    [{ state: 'watched' }, true, true],
    [{ state: 'held' }, true, true],
    [{ state: 'ramping', line: 1 }, true, true],
  ] as const)('apply to what they ask for: %o', (state, adapts, holds) => {
    expect(isSwitchedOn(state, ADAPT)).toBe(adapts);
    expect(isSwitchedOn(state, HOLD)).toBe(holds);
    expect(isSwitchedOn(state, OFF)).toBe(false);
  });
});

const limited = (max_per_second: number, more = {}) =>
  computeRateLimit(aSubscription({ options: { max_per_second }, ...more }));

const rate = fc.oneof(
  fc.integer({ min: 1, max: 1000 }),
  fc.double({ min: 0.01, max: 20, noNaN: true, noDefaultInfinity: true }),
);

describe('the interval between two slots', () => {
  it.each([
    [10, 100],
    [100, 10],
    [1000, 1],
    [2, 500],
    // Ten requests in ten and a half seconds: eleven in ten seconds would exceed the tolerance of 5 %.
    [1, 1050],
    [0.5, 2100],
    [0.01, 100_000],
  ])('for %d requests a second is %d ms', (perSecond, ms) => {
    expect(slotIntervalMs(perSecond)).toBe(ms);
  });

  it('keeps any ten seconds within 5 % above the limit, even if slots are used late', () => {
    fc.assert(
      fc.property(
        rate,
        fc.array(fc.integer({ min: 0, max: SLOT_VALID_MS }), { minLength: 40, maxLength: 400 }),
        (perSecond, lateMs) => {
          const intervalMs = slotIntervalMs(perSecond);
          const slots = slotsFrom(0.4, lateMs.length, { intervalMs, epoch: 'e' });
          const used = slots.map(({ at }, index) => at + (lateMs[index] ?? 0)).sort((a, b) => a - b);
          const most = Math.max(1, Math.floor(1.05 * 10 * perSecond));
          for (const from of used)
            expect(used.filter((at) => at >= from && at < from + 10_000).length).toBeLessThanOrEqual(most);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('exceeds the nominal interval by at most 5 % and 50 ms from one request a second on', () => {
    fc.assert(
      fc.property(fc.double({ min: 1, max: 1000, noNaN: true }), (perSecond) => {
        expect(slotIntervalMs(perSecond)).toBeLessThanOrEqual(1050 / perSecond + 50);
        expect(slotIntervalMs(perSecond)).toBeGreaterThanOrEqual(1000 / perSecond);
      }),
    );
  });
});

describe('the rate limit of a subscription', () => {
  it('is undefined without max_per_second', () => {
    expect(computeRateLimit(aSubscription())).toBeUndefined();
  });

  it('gets a new epoch when its rate or the subscription changes', () => {
    const before = limited(10);
    expect(limited(10)).toEqual(before);
    for (const other of [limited(11), limited(10, { version: 5 }), limited(10, { createdAt: 5 })])
      expect(other?.epoch).not.toBe(before?.epoch);
  });
});

it('a limit that returns to an earlier value begins a new line', () => {
  const lines = [5, 10, 5].reduce<Subscription[]>((before, max_per_second) => {
    const [last = aSubscription()] = before;
    return [withLimitDated(last, { ...last, options: { max_per_second } }, NOW), ...before];
  }, []);
  expect(new Set(lines.map((one) => computeRateLimit(one)?.epoch)).size).toBe(3);
});

describe('a slot', () => {
  it('goes to another delivery only if that one can still reach it', () => {
    const epoch = '1@1';
    expect([3_000, 3_001].map((at) => canReturnSlot({ at, epoch }, 1_000))).toEqual([false, true]);
  });

  const limit = { intervalMs: 100, epoch: 'e' };

  it.each([
    [999, 'to_come'],
    [1000, 'good'],
    [1400, 'good'],
    [1401, 'none'],
  ])('due at 1000 has at %d the state %s', (now, state) => {
    expect(classifySlot({ at: 1000, epoch: 'e' }, limit, now)).toBe(state);
  });

  it.each([[undefined], [{ at: 1000, epoch: 'other' }], [{ at: 1000 }]])(
    '%j is unusable at any time',
    (slot) => {
      for (const now of [900, 1000, 1100]) expect(classifySlot(slot, limit, now)).toBe('none');
    },
  );
});

const pace = (more: Partial<RateLimit> = {}): RateLimit => ({ intervalMs: 100, epoch: 'e', ...more });

const slotsIn = (line: Line | undefined, limit: RateLimit, count = 1) => {
  const found = findSlots(line, count, { limit, now: NOW });
  return 'instead' in found ? [found.instead] : found.slots;
};

describe('a line', () => {
  it.each([
    [{ reservedUpTo: 1001, epoch: 'e' }, true],
    [{ reservedUpTo: 1000, epoch: 'e' }, false],
    [{ reservedUpTo: 2000, epoch: 'other' }, false],
    [undefined, false],
  ])('%j is active at 1000: %s', (line, isActive) => {
    expect(isActiveLine(line, { epoch: 'e' }, 1000)).toBe(isActive);
  });

  it('begins when it opens, and its slots say why they wait', () => {
    const limit = pace({ opensAt: NOW + 5_000, reason: 'receiver_throttled' });
    expect(slotsIn(undefined, limit, 2)).toEqual([
      { at: NOW + 5_000, epoch: 'e', reason: 'receiver_throttled' },
      { at: NOW + 5_100, epoch: 'e', reason: 'receiver_throttled' },
    ]);
    expect(lineStart(limit, NOW + 9_000)).toBe(NOW + 9_000);
  });

  it('has its last slot at its greatest length; the next delivery asks again, spread over half of the time', () => {
    const limit = pace({ opensAt: NOW + 5_000, longestMs: 200, askAgainMs: 10_000, reason: 'circuit_open' });
    const end = (reservedUpTo: number) => ({ reservedUpTo, epoch: 'e' });
    expect(slotsIn(end(NOW + 5_200), limit)).toMatchObject([{ at: NOW + 5_200, epoch: 'e' }]);
    const [instead] = slotsIn(end(NOW + 5_201), limit);
    expect(instead).toEqual({ at: NOW + 10_000, spreadMs: 5_000, reason: 'circuit_open' });
  });

  it('gives the slots that others left, earliest first, if they are to come and within the given time', () => {
    const left = [NOW + 900, NOW, NOW + 300, NOW + 700, NOW + 100];
    const line = { reservedUpTo: NOW + 5_000, epoch: 'e', left };
    const request = { limit: pace(), now: NOW, from: NOW + 300, until: NOW + 700 };
    expect(findSlots(line, 2, request)).toMatchObject({
      slots: [{ at: NOW + 300 }, { at: NOW + 700 }],
      left: [NOW + 100, NOW + 900],
    });
  });

  it('gives a slot once that was left twice, because the request was repeated after a lost answer', () => {
    const line = { reservedUpTo: NOW + 5_000, epoch: 'e', left: [NOW + 300, NOW + 300] };
    expect(slotsIn(line, pace(), 2)).toMatchObject([{ at: NOW + 300 }, { at: NOW + 5_000 }]);
  });

  it('does not let a delivery ask again long after its message has expired', () => {
    const limit = pace({ longestMs: 0, askAgainMs: 60_000 });
    const line = { reservedUpTo: NOW + 100, epoch: 'e' };
    const found = findSlots(line, 1, { limit, now: NOW, until: NOW + 3_000 });
    const asks = 'instead' in found ? spreadOut(found.instead, 'seed').at : Infinity;
    expect(asks).toBe(NOW + 3_750);
  });

  it('of an open circuit has one slot, until the time for its probe is over', () => {
    const limit = pace({ opensAt: NOW + 5_000, longestMs: 0, intervalMs: 30_000, askAgainMs: 10_000 });
    expect(mostTogether(limit)).toBe(1);
    const taken = { reservedUpTo: NOW + 35_000, epoch: 'e' };
    expect(slotsIn(taken, limit)[0]).not.toHaveProperty('epoch');
    expect(slotsIn({ ...taken, reservedUpTo: NOW }, { ...limit, opensAt: NOW - 30_000 })).toEqual([
      { at: NOW, epoch: 'e' },
    ]);
  });

  it('gives no more slots by one write than it holds', () => {
    expect(mostTogether(pace({ longestMs: 1_000 }))).toBe(11);
    expect(mostTogether(pace())).toBe(Infinity);
  });

  it('of a later epoch makes the caller read again, at once and not spread', () => {
    const [instead] = slotsIn({ reservedUpTo: NOW + 500, epoch: 'f' }, pace({ askAgainMs: 60_000 }));
    expect(instead).toEqual({ at: NOW + 2_000 });
  });
});

describe('deliveries that ask again', () => {
  it('do so at separate times, within the spread', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 900_000 }), fc.string(), (spreadMs, seed) => {
        const { at, ...rest } = spreadOut({ at: NOW, spreadMs, reason: 'circuit_open' }, seed);
        expect(at).toBeGreaterThanOrEqual(NOW);
        expect(at).toBeLessThanOrEqual(NOW + spreadMs);
        expect(rest).toEqual({ reason: 'circuit_open' });
        expect(spreadOut({ at: NOW, spreadMs }, seed).at).toBe(at);
      }),
    );
    const seconds = Array.from({ length: 100 }, (_, index) =>
      Math.floor((spreadOut({ at: 0, spreadMs: 10_000 }, `delivery-${index}`).at - 1) / 1_000),
    );
    expect(new Set(seconds).size).toBe(10);
  });

  it('keep a slot as it is', () => {
    expect(spreadOut({ at: NOW, epoch: 'e' }, 'seed')).toEqual({ at: NOW, epoch: 'e' });
  });
});
