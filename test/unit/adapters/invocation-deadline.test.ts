import { afterEach, describe, expect, it, vi } from 'vitest';
import { sqsClient } from '../../../shared/adapters/sqs/client.ts';
import {
  hasTimeAfter,
  invocationDeadline,
  NO_DEADLINE,
  requestMs,
  type CallDeadline,
} from '../../../shared/adapters/lambda/invocation-deadline.ts';
import type { StubAnswer } from '../../support/aws-stub.ts';
import { turnsUntil } from '../../support/eventually.ts';
import { fault, ok, serviceThat } from './service.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const left = (milliseconds: number): CallDeadline => ({ remainingMs: () => milliseconds });

/** A call to a service with this answer. */
const calling = async (answer: StubAnswer, deadline: CallDeadline) => {
  const { config, requests } = await serviceThat(answer);
  const sending = sqsClient({ ...config, deadline }).sendMessage({
    QueueUrl: 'https://sqs.test/queue',
    MessageBody: '1',
  });
  return { outcome: sending.catch((error: unknown) => error), requests };
};

const called = async (answer: StubAnswer, deadline: CallDeadline) => {
  const { outcome, requests } = await calling(answer, deadline);
  return { outcome: await outcome, requests: requests.length };
};

describe('a call to AWS', () => {
  it.each([0, -1])('is not made with %i ms left', async (milliseconds) => {
    const { outcome, requests } = await called({}, left(milliseconds));
    expect(outcome).toMatchObject({ name: 'OutOfTimeError' });
    expect(requests).toBe(0);
  });

  it('is made while there is any time left', async () => {
    const { outcome, requests } = await called(ok({ MessageId: '1' }), left(400));
    expect(outcome).toMatchObject({ MessageId: '1' });
    expect(requests).toBe(1);
  });

  it.each<StubAnswer>(['silence', 'stall'])(
    'that gets %s is retried while there is time, and ends before the deadline',
    async (answer) => {
      vi.spyOn(Math, 'random').mockReturnValue(0);
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
      const endsAt = Date.now() + 1_600;
      const deadline = { remainingMs: () => endsAt - Date.now() };
      const { outcome, requests } = await calling(answer, deadline);
      await turnsUntil(() => requests.length === 1);
      await vi.advanceTimersByTimeAsync(800);
      while (requests.length < 2) await vi.advanceTimersByTimeAsync(1);
      await vi.advanceTimersByTimeAsync(500);
      expect(await outcome).toMatchObject({ name: 'TimeoutError' });
      expect(deadline.remainingMs()).toBeGreaterThan(0);
    },
  );

  it.each([
    ['the wait would leave too little time', 0.9, {}, 1_399],
    ['the service requests a longer wait than there is time', 0, { 'x-amz-retry-after': '4000' }, 4_200],
  ])('is not retried if %s', async (_what, random, headers, milliseconds) => {
    vi.spyOn(Math, 'random').mockReturnValue(random);
    const { outcome, requests } = await called(
      fault(400, 'ThrottlingException', headers),
      left(milliseconds),
    );
    expect(outcome).toMatchObject({ name: 'ThrottlingException' });
    expect(requests).toBe(1);
  });
});

describe('the timeout of a single request', () => {
  it.each([
    [Infinity, 3_000],
    [30_000, 3_000],
    [6_000, 3_000],
    [4_000, 2_000],
    [1_000, 500],
    [800, 500],
    [400, 400],
    [-7, -7],
  ])('is, with %d ms left, %d ms', (remaining, timeout) => {
    expect(requestMs(left(remaining), 3_000)).toBe(timeout);
  });
});

describe('the time for a retry', () => {
  it('is half a second after the wait, and unlimited without a deadline', () => {
    expect(hasTimeAfter(100, left(600))).toBe(true);
    expect(hasTimeAfter(101, left(600))).toBe(false);
    expect(hasTimeAfter(1e9)).toBe(true);
    expect(hasTimeAfter(1e9, NO_DEADLINE)).toBe(true);
  });
});

describe('the deadline of an invocation', () => {
  const contextWith = (milliseconds: number) => ({ getRemainingTimeInMillis: () => milliseconds });

  it('reserves a second for the end of the invocation', async () => {
    const deadline = invocationDeadline();
    const handler = deadline.timed((event: string) => Promise.resolve([event, deadline.remainingMs()]));
    expect(await handler('event', contextWith(30_000))).toEqual(['event', 29_000]);
  });

  it('is that of the invocation that asks, and unlimited between invocations', async () => {
    const deadline = invocationDeadline();
    const other = invocationDeadline();
    const seen: number[] = [];
    const handler = deadline.timed(async () => {
      await Promise.resolve();
      seen.push(deadline.remainingMs(), other.remainingMs());
    });
    await Promise.all([handler(undefined, contextWith(5_000)), handler(undefined, contextWith(7_000))]);
    expect(seen).toEqual([4_000, Infinity, 6_000, Infinity]);
    expect(deadline.remainingMs()).toBe(Infinity);
  });

  it('passes on errors of the handler', async () => {
    const failing = invocationDeadline().timed(() => Promise.reject(new Error('failed')));
    await expect(failing(undefined, contextWith(1))).rejects.toThrow('failed');
  });
});
