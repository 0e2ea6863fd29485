import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  timeTicks,
  moved,
  spanOf,
  timelineLayout,
  zoomed,
  type Times,
} from '../../../console/src/pages/delivery/timeline-layout.ts';

const START = Date.UTC(2026, 10, 21, 12);
const at = (offset: number): string => new Date(START + offset).toISOString();

const attempt = (
  number: number,
  offset: number,
  more: Partial<Times['attempts'][number]> = {},
): Times['attempts'][number] => ({
  number,
  round: 1,
  phase: number === 1 ? 'initial' : 'backoff',
  startedAt: at(offset),
  durationMs: 100,
  outcome: 'failed',
  ...more,
});

describe('the timeline of a delivery', () => {
  const span = { from: START, to: START + 10_000 };

  it('places attempts by time, in the lanes of their phases', () => {
    const times: Times = {
      attempts: [attempt(1, 1000, { durationMs: 500 }), attempt(2, 5000, { outcome: 'delivered' })],
      planned: [{ number: 3, phase: 'post_backoff', dueAt: at(9000) }],
    };
    expect(timelineLayout(times, span, 1000)).toEqual({
      lanes: ['initial', 'backoff', 'post_backoff'],
      marks: [
        { key: '1-1', number: 1, lane: 0, kind: 'failed', x: 100, width: 50 },
        { key: '1-2', number: 2, lane: 1, kind: 'delivered', x: 500, width: 10 },
        { key: 'planned-3', number: 3, lane: 2, kind: 'planned', x: 900, width: 7 },
      ],
    });
  });

  it('marks the due time of an attempt that started late, but not of one on time', () => {
    const times: Times = {
      attempts: [attempt(2, 5000, { dueAt: at(2000) }), attempt(3, 8000, { dueAt: at(7999) })],
      planned: [],
    };
    const { marks } = timelineLayout(times, span, 1000);
    expect(marks.map(({ dueX }) => dueX)).toEqual([200, undefined]);
  });

  it('leaves out attempts outside of the span, unless the line from their due time is inside', () => {
    const times: Times = {
      attempts: [attempt(1, -5000), attempt(2, 20_000, { dueAt: at(9000) }), attempt(3, 30_000)],
      planned: [],
    };
    expect(timelineLayout(times, span, 1000).marks.map(({ number }) => number)).toEqual([2]);
  });

  it('fits a hundred attempts and a planned one', () => {
    const times: Times = {
      attempts: Array.from({ length: 100 }, (_, index) => attempt(index + 1, index * 60_000)),
      planned: [{ number: 101, phase: 'post_backoff', dueAt: at(86_400_000) }],
    };
    const { marks } = timelineLayout(times, spanOf(times, 'all', START), 800);
    expect(marks).toHaveLength(101);
    for (const { x } of marks) expect(x >= 0 && x <= 800).toBe(true);
    expect(spanOf(times, 'made', START).to).toBeLessThan(START + 110 * 60_000);
  });

  it('is centred on now without attempts', () => {
    expect(spanOf({ attempts: [], planned: [] }, 'all', START)).toEqual({ from: START - 50, to: START + 50 });
  });

  it('zooms around its middle, and moves', () => {
    expect(zoomed(span, 0.5)).toEqual({ from: START + 2500, to: START + 7500 });
    expect(moved(span, -0.5)).toEqual({ from: START - 5000, to: START + 5000 });
  });
});

describe('timeTicks', () => {
  it.each<[number, number, string[]]>([
    [4000, 5, ['12:00:00', '12:00:01', '12:00:02', '12:00:03', '12:00:04']],
    [3_600_000, 3, ['12:00', '12:30', '13:00']],
    [200, 2, ['00:00.000', '00:00.100', '00:00.200']],
    [86_400_000, 3, ['12:00', '22 Nov', '12:00']],
    [4 * 86_400_000, 4, ['22 Nov', '23 Nov', '24 Nov', '25 Nov']],
  ])('over %i ms, about %i ticks at most, are at round times', (length, most, texts) => {
    const ticks = timeTicks({ from: START, to: START + length }, most, 0);
    expect(ticks.map(({ text }) => text)).toEqual(texts);
  });

  it('are at round times of the given time zone', () => {
    const ticks = timeTicks({ from: START, to: START + 86_400_000 }, 2, 5.5 * 3_600_000);
    expect(ticks).toEqual([
      { at: START + 6.5 * 3_600_000, text: '22 Nov' },
      { at: START + 18.5 * 3_600_000, text: '12:00' },
    ]);
  });

  it('are within the span, in order, and at most one more than asked for', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 30 * 86_400_000 }),
        fc.integer({ min: 2, max: 20 }),
        (length, most) => {
          const ticks = timeTicks({ from: START, to: START + length }, most, 3_600_000).map(
            (tick) => tick.at,
          );
          expect(ticks.length).toBeLessThanOrEqual(most + 1);
          expect(ticks).toEqual(ticks.toSorted((one, other) => one - other));
          for (const time of ticks) expect(time >= START && time <= START + length).toBe(true);
        },
      ),
    );
  });
});
