import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  InvalidPollInterval,
  POLL_DECREASES,
  pollInterval,
  pollTrace,
  type PollInterval,
} from '../../../shared/domain/retry/poll-interval.ts';

const EMPTY = 'empty';
const MESSAGE = 'message';

/** Wait times of a poller that starts at `interval` and gets these results. */
const waits = (interval: PollInterval, found: string[]): number[] => {
  const seen: number[] = [];
  let now = interval;
  for (const result of found) {
    seen.push(now.wait);
    now = result === EMPTY ? now.afterEmpty() : now.afterMessage();
  }
  return [...seen, now.wait];
};

const empty = (times: number): string[] => Array.from({ length: times }, () => EMPTY);

describe('poll interval', () => {
  it('waits 1, 2, 4, 8, 16, 32, 60, 60 s while nothing is found', () => {
    expect(waits(pollInterval(), empty(7))).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  });

  it('returns to the floor after a message', () => {
    expect(waits(pollInterval(), [...empty(5), MESSAGE, EMPTY])).toEqual([1, 2, 4, 8, 16, 32, 1, 2]);
  });

  it('halves after a message with a gradual decrease, down to the floor', () => {
    const found = [...empty(6), ...Array.from({ length: 7 }, () => MESSAGE)];
    expect(waits(pollInterval({ decrease: 'gradual' }), found)).toEqual([
      1, 2, 4, 8, 16, 32, 60, 30, 15, 7.5, 3.75, 1.875, 1, 1,
    ]);
    expect(waits(pollInterval({ decrease: 'gradual', exponent: 3 }), [EMPTY, EMPTY, MESSAGE])).toEqual([
      1, 3, 9, 4.5,
    ]);
  });

  it('uses the floor, ceiling and exponent of its options', () => {
    expect(waits(pollInterval({ floor: 0.5, ceiling: 5, exponent: 3 }), empty(4))).toEqual([
      0.5, 1.5, 4.5, 5, 5,
    ]);
    expect(waits(pollInterval({ floor: 3, ceiling: 3 }), empty(2))).toEqual([3, 3, 3]);
    expect(waits(pollInterval({ exponent: 1 }), empty(2))).toEqual([1, 1, 1]);
  });

  it('traces each change with the sleep that it ends or the interval that it begins', () => {
    const start = pollInterval().afterEmpty().afterEmpty();
    expect(pollTrace('empty', start, start.afterEmpty())).toBe('empty: slept 4 s, next 8 s');
    expect(pollTrace('failed', start, start.afterEmpty())).toBe('failed: slept 4 s, next 8 s');
    expect(pollTrace('message', start, start.afterMessage())).toBe('message: interval 1 s');
    expect(pollTrace('changed', start, start.afterMessage())).toBe('changed: interval 1 s');
    expect(pollTrace('woken', start, start.afterMessage())).toBe('woken: interval 1 s');
  });

  it('always stays between floor and ceiling', () => {
    const options = fc
      .record({
        floor: fc.double({ min: 0.001, max: 100, noNaN: true }),
        above: fc.double({ min: 0, max: 1000, noNaN: true }),
        exponent: fc.double({ min: 1, max: 10, noNaN: true }),
        decrease: fc.constantFrom(...POLL_DECREASES),
      })
      .map(({ above, ...rest }) => ({ ...rest, ceiling: rest.floor + above }));
    const found = fc.array(fc.constantFrom(EMPTY, MESSAGE), { maxLength: 50 });

    fc.assert(
      fc.property(options, found, (drawn, results) =>
        waits(pollInterval(drawn), results).every((wait) => wait >= drawn.floor && wait <= drawn.ceiling),
      ),
    );
  });

  it.each([
    ['floor', { floor: 0 }],
    ['floor', { floor: -1 }],
    ['floor', { floor: NaN }],
    ['ceiling', { floor: 10, ceiling: 9 }],
    ['ceiling', { ceiling: Infinity }],
    ['ceiling', { ceiling: NaN }],
    ['exponent', { exponent: 0.99 }],
    ['exponent', { exponent: Infinity }],
    ['exponent', { exponent: NaN }],
  ])('refuses an invalid %s and names it: %o', (option, options) => {
    expect(() => pollInterval(options)).toThrow(InvalidPollInterval);
    expect(() => pollInterval(options)).toThrow(new RegExp(`^${option} must be`));
  });
});
