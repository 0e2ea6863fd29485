import { describe, expect, it } from 'vitest';
import { invocationMs } from '../../../shared/domain/delivery/lease.ts';
import { OPERATE_TIMEOUT_SECONDS } from '../../../shared/domain/recovery/operation.ts';
import { MOST_RECEIVES, returnDelaySeconds, visibilityTimeout } from '../../../shared/domain/receives.ts';

const shortest = (receiveCount: number): number => returnDelaySeconds(receiveCount, () => 0);
const longest = (receiveCount: number): number => returnDelaySeconds(receiveCount, () => 1 - Number.EPSILON);

const HALF_AN_HOUR = 1_800;
const EVERY_RECEIVE = Array.from({ length: MOST_RECEIVES - 1 }, (_, index) => index + 1);

describe('the delay of a message that a function failed', () => {
  it('doubles with its receives, up to less than a minute', () => {
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

  it('adds up to about half an hour before the message is a dead letter, and to a quarter of one at least', () => {
    const sum = (delayOf: (count: number) => number): number =>
      EVERY_RECEIVE.reduce((total, count) => total + delayOf(count), 0);
    expect(sum((count) => returnDelaySeconds(count, () => 0.5))).toBeGreaterThan(0.9 * HALF_AN_HOUR);
    expect(sum(shortest)).toBeGreaterThan(HALF_AN_HOUR / 2);
  });
});

describe('the visibility timeout', () => {
  it.each([1, 15, 30])(
    'of an attempt timeout of %d s is over after the invocation, and within a minute',
    (seconds) => {
      const timeout = invocationMs(seconds * 1000) / 1000;
      expect(visibilityTimeout(timeout)).toBeGreaterThan(timeout);
      expect(visibilityTimeout(timeout)).toBeLessThan(60);
    },
  );

  it('of an order is over within a minute', () => {
    expect(visibilityTimeout(OPERATE_TIMEOUT_SECONDS)).toBeLessThan(60);
  });

  it('begins when Lambda receives the message, so it lasts for the batch to be gathered as well', () => {
    expect(visibilityTimeout(30, 30)).toBe(visibilityTimeout(30) + 30);
  });

  it('lasts for the 20 s that a quiet queue is waited on with any window', () => {
    expect(visibilityTimeout(30, 1)).toBe(visibilityTimeout(30) + 20);
  });

  it('has a crash of every receive make a dead letter after nearly half an hour', () => {
    expect(EVERY_RECEIVE.length * visibilityTimeout(30)).toBeGreaterThan(0.9 * HALF_AN_HOUR);
  });
});
