import { describe, expect, it } from 'vitest';
import { invocationMs } from '../../../shared/domain/delivery/lease.ts';
import { OPERATE_TIMEOUT_SECONDS } from '../../../shared/domain/recovery/operation.ts';
import { MAX_RECEIVES, returnDelaySeconds, visibilityTimeout } from '../../../shared/domain/receives.ts';

const shortest = (receiveCount: number): number => returnDelaySeconds(receiveCount, () => 0);
const longest = (receiveCount: number): number => returnDelaySeconds(receiveCount, () => 1 - Number.EPSILON);

const HALF_AN_HOUR = 1_800;
const EVERY_RECEIVE = Array.from({ length: MAX_RECEIVES - 1 }, (_, index) => index + 1);

describe('the redelivery delay after an internal fault', () => {
  it('doubles with each receive, up to less than a minute', () => {
    const delays = [1, 2, 3, 4, 5, 6, 7, 30].map((count) => [shortest(count), longest(count)]);
    expect(delays).toEqual([
      [1, 2],
      [2, 4],
      [4, 8],
      [8, 16],
      [16, 32],
      [25, 50],
      [25, 50],
      [25, 50],
    ]);
  });

  it('adds up to about half an hour, at least 15 minutes, before SQS dead-letters the message', () => {
    const sum = (delayOf: (count: number) => number): number =>
      EVERY_RECEIVE.reduce((total, count) => total + delayOf(count), 0);
    expect(sum((count) => returnDelaySeconds(count, () => 0.5))).toBeGreaterThan(0.9 * HALF_AN_HOUR);
    expect(sum(shortest)).toBeGreaterThan(HALF_AN_HOUR / 2);
  });
});

describe('the visibility timeout', () => {
  it.each([1, 15, 30])(
    'for an attempt timeout of %d s exceeds the invocation and stays below a minute',
    (seconds) => {
      const timeout = invocationMs(seconds * 1000) / 1000;
      expect(visibilityTimeout(timeout)).toBeGreaterThan(timeout);
      expect(visibilityTimeout(timeout)).toBeLessThan(60);
    },
  );

  it('of an operation stays below a minute', () => {
    expect(visibilityTimeout(OPERATE_TIMEOUT_SECONDS)).toBeLessThan(60);
  });

  it('includes the batching window, because it begins when Lambda receives the message', () => {
    expect(visibilityTimeout(30, 30)).toBe(visibilityTimeout(30) + 30);
  });

  it('includes the 20 s that Lambda waits on a quiet queue with any window', () => {
    expect(visibilityTimeout(30, 1)).toBe(visibilityTimeout(30) + 20);
  });

  it('tolerates crashes for nearly half an hour before the message is dead-lettered', () => {
    expect(EVERY_RECEIVE.length * visibilityTimeout(30)).toBeGreaterThan(0.9 * HALF_AN_HOUR);
  });
});
