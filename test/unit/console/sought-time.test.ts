import { describe, expect, it } from 'vitest';
import { soughtTime } from '../../../console/src/shell/search/sought-time.ts';

const MINUTE = 60_000;

/** 21 November 2026, 12:00 in the time zone of this process. */
const NOON = new Date(2026, 10, 21, 12).getTime();

const around = (time: Date) => ({ since: time.getTime() - 5 * MINUTE, until: time.getTime() + 5 * MINUTE });

describe('soughtTime', () => {
  it('is five minutes before and after a time of today', () => {
    expect(soughtTime('11:30', NOON)).toEqual(around(new Date(2026, 10, 21, 11, 30)));
    expect(soughtTime('9:05:10', NOON)).toEqual(around(new Date(2026, 10, 21, 9, 5, 10)));
  });

  it('takes a time that is still to come as yesterday’s', () => {
    expect(soughtTime('23:59', NOON)).toEqual(around(new Date(2026, 10, 20, 23, 59)));
  });

  it('reads dates with a time, in the zone given or the local one', () => {
    expect(soughtTime('2026-11-03 14:03', NOON)).toEqual(around(new Date(2026, 10, 3, 14, 3)));
    expect(soughtTime('2026-11-03T14:03:20.5Z', NOON)).toEqual(around(new Date('2026-11-03T14:03:20.500Z')));
    expect(soughtTime('2026-11-03T14:03:20+02:00', NOON)).toEqual(around(new Date('2026-11-03T12:03:20Z')));
  });

  it('covers a whole local day for a date', () => {
    expect(soughtTime('2026-11-03', NOON)).toEqual({
      since: new Date(2026, 10, 3).getTime(),
      until: new Date(2026, 10, 4).getTime(),
    });
  });

  it.each([
    'order-4711',
    '25:00',
    '12:60',
    '2026-13-01',
    '2026-11-03 14',
    '14',
    'https://a.example/12:00',
    '',
  ])('takes %j for no time', (text) => {
    expect(soughtTime(text, NOON)).toBeUndefined();
  });
});
