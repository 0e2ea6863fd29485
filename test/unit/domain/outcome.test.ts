import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Attempt, type AttemptResult, shownResult } from '../../../shared/domain/delivery/attempt.ts';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { plannedAttempts } from '../../../shared/domain/delivery/explain.ts';
import { nextAfterFailure } from '../../../shared/domain/delivery/next-attempt.ts';
import { TERMINAL_STATUSES } from '../../../shared/domain/delivery/vocabulary.ts';
import { computeSqsDelay, planWakeUp, scheduleName } from '../../../shared/domain/delivery/wake-up-plan.ts';
import {
  classifyReply,
  disablingReason,
  rejectionReason,
  type Reply,
  retryAfterMs,
} from '../../../shared/domain/retry/outcome.ts';
import type { RetryPolicy } from '../../../shared/domain/retry/policy.ts';
import { retrySchedule } from '../../../shared/domain/retry/schedule.ts';
import {
  CONNECTION_FAULTS,
  DELIVERY_REQUESTS,
  type DeliveryRequest,
  type Outcome,
} from '../../../shared/domain/retry/vocabulary.ts';
import { aBarePolicy, aPolicy } from '../../support/builders.ts';
import { aDelivery, anAttempt, SOME_TIME } from '../../support/delivery-builders.ts';

const answered = (statusCode: number, asks?: DeliveryRequest): Reply => ({
  kind: 'answered',
  statusCode,
  ...(asks === undefined ? {} : { asks }),
});

describe('classifyReply', () => {
  const ranges: [string, number, number, Outcome][] = [
    ['2xx', 200, 299, 'delivered'],
    ['3xx and 4xx', 300, 499, 'rejected'],
    ['5xx', 500, 599, 'failed'],
    ['a status below 200', 100, 199, 'failed'],
    ['a status above 599', 600, 999, 'failed'],
  ];

  it.each(ranges)('classifies %s (%i to %i) as %s', (_what, first, last, outcome) => {
    for (let status = first; status <= last; status += 1)
      expect(classifyReply(answered(status), [])).toBe(outcome);
  });

  it('classifies a missing response as failed for every connection fault', () => {
    for (const error of CONNECTION_FAULTS)
      expect(classifyReply({ kind: 'unanswered', error }, [])).toBe('failed');
  });

  it('classifies a forbidden address as rejected, so that it is not retried', () => {
    expect(classifyReply({ kind: 'forbidden' }, [])).toBe('rejected');
  });

  it.each<[string, number[], Outcome]>([
    ['a listed 3xx or 4xx as failed', [302, 408, 425, 429], 'failed'],
    ['one that is not listed as rejected', [301, 400, 404, 428, 430], 'rejected'],
    ['a 410 as rejected, listed or not', [410], 'rejected'],
    ['a 2xx as delivered, listed or not', [200], 'delivered'],
  ])('classifies %s', (_what, statuses, outcome) => {
    const listed = [200, 302, 408, 410, 425, 429];
    for (const status of statuses) expect(classifyReply(answered(status), listed)).toBe(outcome);
  });

  it('ignores the list outside 3xx and 4xx', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 100, max: 999 }),
        fc.array(fc.integer({ min: 100, max: 999 })),
        (status, list) => {
          fc.pre(status < 300 || status > 499);
          expect(classifyReply(answered(status), [...list, status])).toBe(
            classifyReply(answered(status), []),
          );
        },
      ),
    );
  });
});

it.each<[AttemptResult, object]>([
  [
    { kind: 'answered', statusCode: 500, snippet: 'no' },
    { statusCode: 500, snippet: 'no' },
  ],
  [{ kind: 'unanswered', error: 'timeout' }, { error: 'timeout' }],
  [{ kind: 'unanswered', error: 'tls_failed', detail: 'expired' }, { error: 'tls_failed: expired' }],
  [{ kind: 'forbidden' }, { error: 'address_forbidden' }],
  [{ kind: 'unrendered', detail: 'no data' }, { error: 'payload_failed: no data' }],
  [{ kind: 'acknowledged' }, {}],
  [{ kind: 'refused' }, { error: 'nacked' }],
  [{ kind: 'lapsed' }, { error: 'lease_expired' }],
])('the result %o is shown as %o', (result, shown) => {
  expect(shownResult(result)).toEqual(shown);
});

describe('the header webhook-delivery', () => {
  it.each(DELIVERY_REQUESTS)('%s: no answer is retried, and a 2xx is delivered all the same', (asks) => {
    expect([500, 599, 429, 404, 302].map((status) => classifyReply(answered(status, asks), [429]))).toEqual(
      Array(5).fill('rejected'),
    );
    expect(classifyReply(answered(204, asks), [])).toBe('delivered');
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
const DAY = 86_400_000;
const [YEAR_2026, YEAR_2076] = [Date.UTC(2026, 0, 1), Date.UTC(2076, 0, 1)];

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

  it.each([
    ['a two-digit day of asctime', 'Wed Nov 16 08:49:37 1994', NOW, 10 * DAY],
    ['the past', 'Sun, 06 Nov 1994 08:49:36 GMT', NOW, 0],
    ['a leap second', 'Sat, 31 Dec 2016 23:59:60 GMT', Date.UTC(2016, 11, 31), DAY],
    ['a leap day', 'Thu, 29 Feb 2024 00:00:00 GMT', Date.UTC(2024, 1, 28), DAY],
    ['a two-digit year in 50 years', 'Wednesday, 01-Jan-76 00:00:00 GMT', YEAR_2026, YEAR_2076 - YEAR_2026],
    ['one in 51 years, which is past', 'Saturday, 01-Jan-77 00:00:00 GMT', YEAR_2026, 0],
    ['one in the next century', 'Saturday, 01-Jan-00 00:00:00 GMT', Date.UTC(2099, 0, 1), 365 * DAY],
    ['the last day there is', 'Fri, 31 Dec 9999 23:59:59 GMT', NOW, Date.UTC(9999, 11, 31, 23, 59, 59) - NOW],
  ])('may be %s: %s', (_what, header, now, wait) => {
    expect(retryAfterMs(header, now)).toBe(wait);
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

/** Simulates the round: every attempt fails and takes no time. */
const played = (start: Delivery, policy: RetryPolicy): unknown[] => {
  const made: Attempt[] = [...start.attempts];
  const seen: unknown[] = [];
  let next = start.next ?? { number: made.length + 1, phase: 'initial' as const, dueAt: start.updatedAt };
  for (;;) {
    const { number, phase, dueAt } = next;
    seen.push({ number, phase, dueAt });
    const failed = anAttempt({ number, phase, round: start.round, startedAt: dueAt, durationMs: 0 });
    made.push(failed);
    const following = nextAfterFailure({
      key: start.key,
      policy,
      failed,
      attemptsInRound: made.filter(({ round }) => round === start.round).length,
      retryAfterMs: 0,
      thresholdSeconds: 90,
      canContinue: true,
    });
    if (following === undefined) return seen;
    next = following;
  }
};

describe('planned attempts', () => {
  const policies = (['none', 'full', 'equal'] as const).flatMap((jitter) => [
    aPolicy({ jitter }),
    aPolicy({ jitter, retry_backoff_function: 'geometric', backoff_retries: 40, maximum_delay: 86_400 }),
  ]);

  it.each(policies)('equal the real attempts if each fails at once: %o', (policy) => {
    const first = aDelivery();
    const midway = aDelivery({
      status: 'retrying',
      attempts: [anAttempt(), anAttempt({ number: 2, phase: 'immediate' })],
      next: { number: 3, phase: 'immediate', dueAt: SOME_TIME + 77, by: 'sqs_delay' },
      policy,
    });
    for (const delivery of [first, midway])
      expect(plannedAttempts(delivery, policy)).toEqual(played(delivery, policy));
  });

  it('begin with the due attempt and count only attempts of its round', () => {
    const policy = aPolicy();
    const [, second, third] = retrySchedule(policy);
    const planned = plannedAttempts(
      aDelivery({
        status: 'retrying',
        round: 2,
        attempts: [
          anAttempt(),
          anAttempt({ number: 2 }),
          anAttempt({ number: 3 }),
          anAttempt({ number: 4, round: 2, phase: 'manual' }),
        ],
        next: { number: 5, phase: 'immediate', dueAt: SOME_TIME, by: 'sqs_delay' },
      }),
      policy,
    );
    expect(planned[0]).toEqual({ number: 5, phase: 'immediate', dueAt: SOME_TIME });
    expect(planned[1]).toMatchObject({ number: 6, phase: second?.phase });
    expect(planned[2]).toMatchObject({ number: 7, phase: third?.phase });
    expect(planned).toHaveLength(retrySchedule(policy).length);
  });

  it.each(TERMINAL_STATUSES)('are empty for a delivery that is %s', (status) => {
    expect(plannedAttempts(aDelivery({ status }), aPolicy())).toEqual([]);
  });

  it('contain only the due attempt if the policy has no retry left', () => {
    const next = { number: 2, phase: 'manual', dueAt: SOME_TIME, by: 'sqs_delay' } as const;
    const delivery = aDelivery({ status: 'retrying', attempts: [anAttempt()], next });
    const policy = aBarePolicy({ retries_with_no_delay: 1 });
    expect(plannedAttempts(delivery, policy)).toEqual([{ number: 2, phase: 'manual', dueAt: SOME_TIME }]);
  });
});

describe('an SQS delay', () => {
  it.each([
    [5_000, 5],
    [4_980, 5],
    [4_500, 5],
    [4_499, 4],
    [499, 0],
    [-3_000, 0],
    [900_400, 900],
    [86_400_000, 900],
  ])('of %i ms is rounded to %i s, within the SQS maximum', (remainingMs, delaySeconds) => {
    expect(computeSqsDelay(1_000_000 + remainingMs, 1_000_000)).toBe(delaySeconds);
  });
});

describe('the wake-up plan', () => {
  it.each([
    [89_499, 90, { by: 'sqs_delay' }],
    [90_000, 90, { by: 'scheduler', at: 25_000 }],
    [30_000, 8, { by: 'scheduler', at: 5_000 }],
    [5_000, 0, { by: 'sqs_delay' }],
    [5_001, 0, { by: 'scheduler', at: 5_000 }],
  ])('for %i ms with a threshold of %i s', (dueAt, thresholdSeconds, plan) => {
    expect(planWakeUp(dueAt, 0, thresholdSeconds)).toEqual(plan);
  });
});

it("a schedule's name is unique per due time and attempt, and valid for EventBridge Scheduler", () => {
  const key = { queue: 'q', messageId: 'm', subscriptionId: 's', bucket: 0 };
  const names = [
    scheduleName(key, 2, 1_800_000_000_000),
    scheduleName(key, 2, 1_800_000_000_001),
    scheduleName(key, 101, 1_800_000_000_000),
    scheduleName({ ...key, subscriptionId: 't' }, 2, 1_800_000_000_000),
  ];
  expect(new Set(names).size).toBe(4);
  expect(scheduleName(key, 2, 1_800_000_000_000)).toBe(names[0]);
  for (const name of names) expect(name).toMatch(/^[0-9a-zA-Z\-_.]{1,64}$/);
});
