import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { retryAfterMs } from '../../../shared/domain/retry/outcome.ts';

/** Sunday, 6 November 1994, 08:49:37 UTC: the example date of RFC 9110. */
const NOW = Date.UTC(1994, 10, 6, 8, 49, 37);

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['120', 120_000],
    ['007', 7_000],
    ['\t 5 ', 5_000],
  ])('in seconds, %j, gives %i ms', (header, wait) => {
    expect(retryAfterMs(header, NOW)).toBe(wait);
  });

  it.each([
    ['as an IMF-fixdate', 'Sun, 06 Nov 1994 08:50:37 GMT'],
    ['in the form of RFC 850', 'Sunday, 06-Nov-94 08:50:37 GMT'],
    ['in the form of asctime', 'Sun Nov  6 08:50:37 1994'],
  ])('as a date %s is relative to now', (_, header) => {
    expect(retryAfterMs(header, NOW)).toBe(60_000);
    expect(retryAfterMs(header, NOW - 500)).toBe(60_500);
  });

  it('as an asctime date may have a two-digit day', () => {
    expect(retryAfterMs('Wed Nov 16 08:49:37 1994', NOW)).toBe(10 * 86_400_000);
  });

  it('as a past date gives 0', () => {
    expect(retryAfterMs('Sun, 06 Nov 1994 08:49:36 GMT', NOW)).toBe(0);
  });

  it('supports leap seconds and leap days', () => {
    expect(retryAfterMs('Sat, 31 Dec 2016 23:59:60 GMT', Date.UTC(2016, 11, 31))).toBe(86_400_000);
    expect(retryAfterMs('Thu, 29 Feb 2024 00:00:00 GMT', Date.UTC(2024, 1, 28))).toBe(86_400_000);
  });

  it('reads a two-digit year as at most 50 years ahead, otherwise as past', () => {
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
  ])('gives nothing if malformed: %j', (header) => {
    expect(retryAfterMs(header, NOW)).toBeUndefined();
  });

  it('is capped at a safe integer', () => {
    expect(retryAfterMs('9'.repeat(400), NOW)).toBe(Number.MAX_SAFE_INTEGER);
    expect(retryAfterMs('Fri, 31 Dec 9999 23:59:59 GMT', NOW)).toBe(Date.UTC(9999, 11, 31, 23, 59, 59) - NOW);
  });

  it('is never negative or NaN for any header', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[-+0-9 :,.A-Za-z]*$/)), (header) => {
        const wait = retryAfterMs(header, NOW);
        return wait === undefined || (wait >= 0 && Number.isSafeInteger(wait));
      }),
    );
  });

  it('as any HTTP-date is exact to the second', () => {
    const date = fc.date({ min: new Date(NOW), max: new Date('9999-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(date, (drawn) => {
        const wholeSecond = Math.floor(drawn.getTime() / 1000) * 1000;
        return retryAfterMs(drawn.toUTCString(), NOW) === wholeSecond - NOW;
      }),
    );
  });
});
