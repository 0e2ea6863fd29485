import { describe, expect, it } from 'vitest';
import { timeOf } from '../../../cli/options/time.ts';
import { clockTime } from '../../../cli/output/time-text.ts';

const local = (hours: number, minutes: number, seconds = 0) =>
  new Date(2026, 10, 23, hours, minutes, seconds).getTime();

describe('the time of an option', () => {
  it.each([
    ['with a blank', '2026-11-23 03:05:52', local(3, 5, 52)],
    ['without seconds', '2026-11-23 03:05', local(3, 5)],
    ['without a zone', '2026-11-23T03:05', local(3, 5)],
    ['that is a date, from its midnight', '2026-11-23', local(0, 0)],
    ['in UTC', '2026-11-23T03:05:52Z', Date.UTC(2026, 10, 23, 3, 5, 52)],
    ['with an offset', '2026-11-23 03:05:52.5+02:00', Date.UTC(2026, 10, 23, 1, 5, 52, 500)],
  ])('is accepted %s', (_, text, at) => {
    expect(timeOf(text)).toBe(at);
  });

  it('is accepted as the command prints it', () => {
    const at = local(17, 4, 9);
    expect(timeOf(clockTime(new Date(at).toISOString()))).toBe(at);
  });

  it.each(['2026-02-30', '2026-11-23 25:00', '2026-11-23T03', '23.11.2026', '2026-11-23 03:05 CET', ''])(
    'is refused if it is %j',
    (text) => {
      expect(() => timeOf(text)).toThrow('Expected a time such as');
    },
  );
});
