import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  disablingReason,
  outcomeOf,
  rejectionReason,
  type Reply,
  retryAfterMs,
} from '../../../shared/domain/retry/outcome.ts';
import {
  DELIVERY_REQUESTS,
  type DeliveryRequest,
  type Outcome,
} from '../../../shared/domain/retry/vocabulary.ts';

const answered = (statusCode: number, asks?: DeliveryRequest): Reply => ({
  kind: 'answered',
  statusCode,
  ...(asks === undefined ? {} : { asks }),
});

describe('outcomeOf', () => {
  const ranges: [string, number, number, Outcome][] = [
    ['2xx', 200, 299, 'delivered'],
    ['3xx and 4xx', 300, 499, 'rejected'],
    ['5xx', 500, 599, 'failed'],
    ['a status below 200', 100, 199, 'failed'],
    ['a status above 599', 600, 999, 'failed'],
  ];

  it.each(ranges)('classifies %s (%i to %i) as %s', (_what, first, last, outcome) => {
    for (let status = first; status <= last; status += 1)
      expect(outcomeOf(answered(status), [])).toBe(outcome);
  });

  it('classifies a missing response as failed for every connection fault', () => {
    const faults = [
      'timeout',
      'dns_failed',
      'connection_refused',
      'connection_reset',
      'tls_failed',
      'invalid_response',
      'connection_failed',
    ] as const;
    for (const error of faults) expect(outcomeOf({ kind: 'unanswered', error }, [])).toBe('failed');
  });

  it('classifies a forbidden address as rejected, so that it is not retried', () => {
    expect(outcomeOf({ kind: 'forbidden' }, [])).toBe('rejected');
  });

  it('retries only the listed 3xx and 4xx', () => {
    const listed = [302, 408, 425, 429];
    for (const status of listed) expect(outcomeOf(answered(status), listed)).toBe('failed');
    for (const status of [301, 400, 404, 428, 430])
      expect(outcomeOf(answered(status), listed)).toBe('rejected');
  });

  it('never retries a 2xx or a 410, listed or not', () => {
    expect(outcomeOf(answered(200), [200])).toBe('delivered');
    expect(outcomeOf(answered(410), [410])).toBe('rejected');
  });

  it('ignores the list outside 3xx and 4xx', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 100, max: 999 }),
        fc.array(fc.integer({ min: 100, max: 999 })),
        (status, list) => {
          fc.pre(status < 300 || status > 499);
          expect(outcomeOf(answered(status), [...list, status])).toBe(outcomeOf(answered(status), []));
        },
      ),
    );
  });
});

describe('the header webhook-delivery', () => {
  it.each(DELIVERY_REQUESTS)('%s: no answer is retried, and a 2xx is delivered all the same', (asks) => {
    expect([500, 599, 429, 404, 302].map((status) => outcomeOf(answered(status, asks), [429]))).toEqual(
      Array(5).fill('rejected'),
    );
    expect(outcomeOf(answered(204, asks), [])).toBe('delivered');
  });

  it('is the reason of the rejection, unless a 410 is', () => {
    expect(rejectionReason(answered(503, 'abort-message'))).toBe('abort_requested');
    expect(rejectionReason(answered(404, 'disable'))).toBe('disable_requested');
    expect(rejectionReason(answered(410, 'abort-message'))).toBe('gone');
    expect(rejectionReason(answered(404))).toBe('http_404');
  });
});

describe('disablingReason', () => {
  it('is `gone` only for 410', () => {
    expect(disablingReason(answered(410))).toBe('gone');
    expect(disablingReason(answered(410, 'disable'))).toBe('gone');
    for (const status of [404, 409, 411, 200, 500]) expect(disablingReason(answered(status))).toBeUndefined();
    expect(disablingReason({ kind: 'forbidden' })).toBeUndefined();
    expect(disablingReason({ kind: 'unanswered', error: 'timeout' })).toBeUndefined();
  });

  it('is given by any answer that asks for it, and by no other request', () => {
    for (const status of [200, 302, 404, 503])
      expect(disablingReason(answered(status, 'disable'))).toBe('disable_requested');
    expect(disablingReason(answered(503, 'abort-message'))).toBeUndefined();
  });
});

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
