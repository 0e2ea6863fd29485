import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DELIVERY_REQUESTS,
  type DeliveryRequest,
  type Outcome,
} from '../../../shared/domain/retry/vocabulary.ts';
import {
  disablingReason,
  outcomeOf,
  rejectionReason,
  type Reply,
} from '../../../shared/domain/retry/outcome.ts';

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
