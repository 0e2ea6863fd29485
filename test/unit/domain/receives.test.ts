import { describe, expect, it } from 'vitest';
import { contended, ContendedError, withRetriedWrites } from '../../../shared/domain/contention.ts';
import { nameOfDelivery } from '../../../shared/domain/delivery/delivery.ts';
import {
  isPoison,
  MAX_RECEIVES,
  returnDelaySeconds,
  visibilityTimeout,
} from '../../../shared/domain/receives.ts';
import { OPERATE_TIMEOUT_SECONDS } from '../../../shared/domain/recovery/operation.ts';
import { invocationMs } from '../../../shared/domain/retry/attempt-duration.ts';
import { seededChance } from '../../support/chance.ts';

const shortest = (receiveCount: number): number => returnDelaySeconds(receiveCount, () => 0);
const longest = (receiveCount: number): number => returnDelaySeconds(receiveCount, () => 1 - Number.EPSILON);
const HOUR = 3_600;
const EVERY_RECEIVE = Array.from({ length: MAX_RECEIVES - 1 }, (_, index) => index + 1);

describe('the redelivery delay after an internal fault', () => {
  it('doubles with each receive, up to eight minutes', () => {
    const delays = [1, 2, 3, 4, 8, 9, 30].map((count) => [shortest(count), longest(count)]);
    expect(delays).toEqual([
      [2, 2],
      [3, 4],
      [7, 8],
      [14, 16],
      [218, 256],
      [408, 480],
      [408, 480],
    ]);
  });

  it('lets an outage of three hours receive a message at most 35 times', () => {
    const chance = seededChance(1);
    for (let message = 0; message < 10_000; message += 1) {
      let [at, receives] = [0, 1];
      for (; at < 3 * HOUR; receives += 1) at += returnDelaySeconds(receives, () => chance.next());
      expect(receives).toBeLessThanOrEqual(35);
    }
  });

  it('lasts for more than ten hours before SQS dead-letters the message', () => {
    const sum = EVERY_RECEIVE.reduce((total, count) => total + shortest(count), 0);
    expect(sum).toBeGreaterThan(10 * HOUR);
  });
});

describe('a message that fails without a fault of AWS', () => {
  const NOW = 100 * 60_000;

  it.each([
    ['is poison after five failures while others succeed', 5, NOW - 1_000, true],
    ['is not poison before', 4, NOW - 1_000, false],
    ['is not poison while no other succeeds', 50, undefined, false],
    ['is not poison if the last success of another was ten minutes ago', 50, NOW - 10 * 60_000, false],
  ])('%s', (...[, receives, otherSucceededAt, expected]) => {
    expect(isPoison(receives, otherSucceededAt, NOW)).toBe(expected);
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

  it('makes a message that crashes each invocation a dead letter within the hour, at the default timeout', () => {
    const perCrash = visibilityTimeout(invocationMs(15_000) / 1000);
    expect(MAX_RECEIVES * perCrash).toBeLessThanOrEqual(HOUR);
  });
});

/** A step that is refused `times` times before it succeeds. */
const refused = (times: number) => {
  let steps = 0;
  const step = () => Promise.resolve((steps += 1) > times ? `written at step ${steps}` : 'again');
  return { step, steps: () => steps };
};

const giveUp = () => 'given up';

describe('a retried conditional write', () => {
  it('runs once without a concurrent write', async () => {
    const { step, steps } = refused(0);
    expect(await withRetriedWrites(step, giveUp)).toBe('written at step 1');
    expect(steps()).toBe(1);
  });

  it('is tried four times by default', async () => {
    expect(await withRetriedWrites(refused(3).step, giveUp)).toBe('written at step 4');
    const { step, steps } = refused(4);
    expect(await withRetriedWrites(step, giveUp)).toBe('given up');
    expect(steps()).toBe(4);
  });

  it('uses the tries and pauses of its caller', async () => {
    const pauses: number[] = [];
    const pause = (tried: number) => Promise.resolve(void pauses.push(tried));
    expect(await withRetriedWrites(refused(2).step, giveUp, { tries: 3, pause })).toBe('written at step 3');
    expect(pauses).toEqual([1, 2]);
  });

  it('fails if its caller has no result for a lasting contention', async () => {
    const retried = withRetriedWrites(refused(4).step, contended('queue orders'));
    await expect(retried).rejects.toThrow(new ContendedError('queue orders'));
  });

  it('passes errors through', async () => {
    const step = () => Promise.reject(new Error('power cut'));
    await expect(withRetriedWrites(step, giveUp)).rejects.toThrow('power cut');
  });
});

describe('a ContendedError', () => {
  it('names the record', () => {
    expect(new ContendedError('queue orders').message).toBe(
      'The queue orders kept being changed by concurrent writes.',
    );
    const key = { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1', bucket: 0 };
    expect(new ContendedError(nameOfDelivery(key)).message).toContain('delivery orders/m-1/s-1');
  });
});
