import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { retryAfterMs } from '../../../shared/domain/retry/retry-after.ts';

/** Sunday, 6 November 1994, 08:49:37 UTC: the date in RFC 9110's own examples. */
const NOW = Date.UTC(1994, 10, 6, 8, 49, 37);

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['120', 120_000],
    ['007', 7_000],
    ['\t 5 ', 5_000],
  ])('in seconds, %j, asks for %i ms', (header, wait) => {
    expect(retryAfterMs(header, NOW)).toBe(wait);
  });

  it.each([
    ['as an IMF-fixdate', 'Sun, 06 Nov 1994 08:50:37 GMT'],
    ['in the form of RFC 850', 'Sunday, 06-Nov-94 08:50:37 GMT'],
    ['in the form of asctime', 'Sun Nov  6 08:50:37 1994'],
  ])('as a date %s counts from now', (_, header) => {
    expect(retryAfterMs(header, NOW)).toBe(60_000);
    expect(retryAfterMs(header, NOW - 500)).toBe(60_500);
  });

  it('as an asctime date may have a day of two digits', () => {
    expect(retryAfterMs('Wed Nov 16 08:49:37 1994', NOW)).toBe(10 * 86_400_000);
  });

  it('as a date that has passed asks for no wait', () => {
    expect(retryAfterMs('Sun, 06 Nov 1994 08:49:36 GMT', NOW)).toBe(0);
  });

  it('counts the leap second and the leap day', () => {
    expect(retryAfterMs('Sat, 31 Dec 2016 23:59:60 GMT', Date.UTC(2016, 11, 31))).toBe(86_400_000);
    expect(retryAfterMs('Thu, 29 Feb 2024 00:00:00 GMT', Date.UTC(2024, 1, 28))).toBe(86_400_000);
  });

  it('takes a year of two digits for the next 50 years, and for the past beyond them', () => {
    const now = Date.UTC(2026, 0, 1);
    expect(retryAfterMs('Wednesday, 01-Jan-76 00:00:00 GMT', now)).toBe(Date.UTC(2076, 0, 1) - now);
    expect(retryAfterMs('Saturday, 01-Jan-77 00:00:00 GMT', now)).toBe(0);
    expect(retryAfterMs('Saturday, 01-Jan-00 00:00:00 GMT', Date.UTC(2099, 0, 1))).toBe(365 * 86_400_000);
  });

  it.each([
    '',
    ' ',
    '-1',
    '+5',
    '1.5',
    '1e3',
    '0x10',
    '5s',
    '120, 240',
    '१२',
    'soon',
    'Sun, 06 Nov 1994 08:49:37',
    'Sun, 06 Nov 1994 08:49:37 UTC',
    'Sun, 06 Nov 1994 08:49:37 +0100',
    'sun, 06 nov 1994 08:49:37 gmt',
    'Sun, 6 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 94 08:49:37 GMT',
    'Xyz, 06 Nov 1994 08:49:37 GMT',
    'Wed, 31 Nov 1994 08:49:37 GMT',
    'Wed, 29 Feb 2023 00:00:00 GMT',
    'Sun, 00 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 24:00:00 GMT',
    'Sun, 06 Nov 1994 08:60:00 GMT',
    'Sun, 06 Nov 1994 08:49:61 GMT',
    'Sun Nov 6 08:49:37 1994',
    '1994-11-06T08:49:37Z',
  ])('that is malformed, %j, is no hint', (header) => {
    expect(retryAfterMs(header, NOW)).toBeUndefined();
  });

  it('of any size stays a number that can be counted with', () => {
    expect(retryAfterMs('9'.repeat(400), NOW)).toBe(Number.MAX_SAFE_INTEGER);
    expect(retryAfterMs('Fri, 31 Dec 9999 23:59:59 GMT', NOW)).toBe(Date.UTC(9999, 11, 31, 23, 59, 59) - NOW);
  });

  it('is never negative and never NaN, whatever a subscriber sends', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[-+0-9 :,.A-Za-z]*$/)), (header) => {
        const wait = retryAfterMs(header, NOW);
        return wait === undefined || (wait >= 0 && Number.isSafeInteger(wait));
      }),
    );
  });

  it('as a date that any clock prints comes out to the second', () => {
    const date = fc.date({ min: new Date(NOW), max: new Date('9999-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(date, (drawn) => {
        const wholeSecond = Math.floor(drawn.getTime() / 1000) * 1000;
        return retryAfterMs(drawn.toUTCString(), NOW) === wholeSecond - NOW;
      }),
    );
  });
});
