import { describe, expect, it } from 'vitest';
import {
  axisTime,
  clockText,
  durationText,
  relativeText,
  utcText,
} from '../../../console/src/parts/time-text.ts';

const NOON = Date.UTC(2026, 10, 21, 12);

describe('times in the console', () => {
  it.each([
    [NOON + 1234, false, 'UTC', '12:00:01'],
    [NOON + 1234, true, 'UTC', '12:00:01.234'],
    [NOON, false, 'Asia/Kolkata', '17:30:00'],
    [NOON - 86_400_000, false, 'UTC', '20 Nov, 12:00:00'],
    [NOON + 14 * 3_600_000, false, 'UTC', '22 Nov, 02:00:00'],
    [NOON - 400 * 86_400_000, false, 'UTC', '17 Oct 2025, 12:00:00'],
  ])('are shown in the given time zone, with the date unless it is today', (time, exact, zone, text) => {
    expect(clockText(time, { now: NOON, exact }, zone)).toBe(text);
  });

  it('are shown in UTC in the tooltip', () => {
    expect(utcText('2026-11-21T12:00:00.000Z')).toBe('2026-11-21 12:00:00.000 UTC');
    expect(utcText('2026-11-21T13:00:00.000+01:00')).toBe('2026-11-21 12:00:00.000 UTC');
    expect(utcText('no time at all')).toBe('no time at all');
  });

  it('are shown on an axis to the minute, or to the second where its steps are shorter', () => {
    expect(axisTime(NOON + 7000, { now: NOON, seconds: false })).toMatch(/^\d\d:00$/);
    expect(axisTime(NOON + 7000, { now: NOON, seconds: true })).toMatch(/^\d\d:00:07$/);
  });

  it.each([
    [0, '0 s'],
    [48, '48 ms'],
    [999.4, '999 ms'],
    [1000, '1 s'],
    [3500, '3.5 s'],
    [59_940, '59.9 s'],
    [59_999, '1 min'],
    [90_000, '1 min 30 s'],
    [7_500_000, '2 h 5 min'],
    [15 * 86_400_000, '15 d'],
  ])('show a duration of %i milliseconds as %s', (milliseconds, text) => {
    expect(durationText(milliseconds)).toBe(text);
  });

  it.each([
    [NOON + 400, 'now'],
    [NOON + 3_400, 'in 3 s'],
    [NOON - 125_000, '2 min 5 s ago'],
  ])('are shown relative to now', (time, text) => {
    expect(relativeText(time, NOON)).toBe(text);
  });
});
