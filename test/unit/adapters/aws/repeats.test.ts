import { afterEach, describe, expect, it, vi } from 'vitest';
import type { AwsStub, StubAnswer } from '../../../support/aws-stub.ts';
import {
  everyClient,
  fault,
  faultOf,
  deliveryClients,
  serviceThat,
  SUCCESS,
} from './calls-of-every-client.ts';

const stubs: AwsStub[] = [];
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await Promise.all(stubs.splice(0).map((stub) => stub.close()));
});

const waitsAreNone = () => vi.spyOn(Math, 'random').mockReturnValue(0);
const waitsAreLongest = () => vi.spyOn(Math, 'random').mockReturnValue(0.999_999);

/** Without it, a busy machine would shorten the wait until the time that a service names. */
const timeStandsStill = () => vi.useFakeTimers({ toFake: ['Date'] });

/**
 * The waits of a client before its retries from now on. The timers that end a request are excluded: one second to
 * connect, and three or less to respond.
 */
const waited = () => {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  return () =>
    timers.mock.calls
      .map(([, milliseconds = 0]) => milliseconds)
      .filter((milliseconds) => milliseconds > 0 && milliseconds < 1_000);
};

describe.each(everyClient)('the client of %s', (client) => {
  it.each([
    ['was throttled', 400, 'ThrottlingException'],
    ['was throttled under another name', 400, 'ProvisionedThroughputExceededException'],
    ['was throttled by status', 429, 'TooMany'],
    ['failed in the service', 500, 'InternalError'],
    ['found the service unavailable', 503, 'ServiceUnavailable'],
    ['timed out at a gateway', 504, 'GatewayTimeout'],
  ])('retries a request that %s', async (_, status, name) => {
    waitsAreNone();
    const answer = faultOf(client, status, name);
    const { calls, requests } = await serviceThat(stubs, [answer, answer, SUCCESS]);
    await calls[client]();
    expect(requests).toHaveLength(3);
  });

  it.each<[string, StubAnswer]>([
    ['before it started', 'hang_up'],
    ['halfway', 'cut_off'],
  ])('retries a request whose response was lost %s', async (_, answer) => {
    waitsAreNone();
    const { calls, requests } = await serviceThat(stubs, [answer, answer, SUCCESS]);
    await calls[client]();
    expect(requests).toHaveLength(3);
  });

  it.each([
    ['is not permitted', 403, 'AccessDeniedException'],
    ['is not valid', 400, 'ValidationException'],
    ['names a missing resource', 404, 'ResourceNotFoundException'],
    ['is refused by a condition', 400, 'ConditionalCheckFailedException'],
  ])('does not retry a request that %s', async (_, status, name) => {
    const { calls, requests } = await serviceThat(stubs, [faultOf(client, status, name)]);
    await expect(calls[client]()).rejects.toMatchObject({ name, $metadata: { httpStatusCode: status } });
    expect(requests).toHaveLength(1);
  });

  it('makes a request at most three times', async () => {
    waitsAreNone();
    const { calls, requests } = await serviceThat(stubs, ['hang_up']);
    await expect(calls[client]()).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(requests).toHaveLength(3);
  });
});

describe('every client', () => {
  it('retries a write that conflicted with a transaction', async () => {
    waitsAreNone();
    const { calls, requests } = await serviceThat(stubs, [
      fault(400, 'TransactionConflictException'),
      SUCCESS,
    ]);
    await calls.DynamoDB();
    expect(requests).toHaveLength(2);
  });

  it.each<StubAnswer>(['silence', 'stall'])(
    'gives a request that gets %s three seconds, then retries it',
    async (answer) => {
      waitsAreNone();
      const unanswered = everyClient.map(() => answer);
      const { calls, requests } = await serviceThat(stubs, [...unanswered, fault(403, 'AccessDenied')]);
      const started = performance.now();
      const outcomes = await Promise.allSettled(everyClient.map((client) => calls[client]()));
      expect(performance.now() - started).toBeGreaterThan(2_900);
      expect(requests).toHaveLength(2 * everyClient.length);
      expect(outcomes).toMatchObject(
        outcomes.map(() => ({ status: 'rejected', reason: { $metadata: { httpStatusCode: 403 } } })),
      );
    },
  );
});

describe.each(deliveryClients)('the waits of the client of %s', (client) => {
  it('are up to 50 ms before the first retry, and up to 100 ms before the second', async () => {
    waitsAreLongest();
    const { calls } = await serviceThat(stubs, ['hang_up']);
    const waits = waited();
    const started = performance.now();
    await expect(calls[client]()).rejects.toThrow();
    expect(waits()).toEqual([49, 99]);
    // Timers may be a millisecond early.
    expect(performance.now() - started).toBeGreaterThan(49 + 99 - 2);
  });

  it('are up to a second before the retry of a throttled request', async () => {
    waitsAreLongest();
    const { calls } = await serviceThat(stubs, [fault(400, 'ThrottlingException'), SUCCESS]);
    const waits = waited();
    const started = performance.now();
    await calls[client]();
    expect(waits()).toEqual([999]);
    expect(performance.now() - started).toBeGreaterThan(999 - 2);
  });

  it.each([
    ['x-amz-retry-after', '120', 120],
    ['retry-after', '0.2', 200],
  ])('are at least what the service requests: %s', async (header, asked, milliseconds) => {
    waitsAreNone();
    timeStandsStill();
    const busy = fault(503, 'SlowDown', { [header]: asked });
    const { calls, requests } = await serviceThat(stubs, [busy, SUCCESS]);
    const waits = waited();
    const started = performance.now();
    await calls[client]();
    expect(waits()).toEqual([milliseconds]);
    // Timers may be a millisecond early.
    expect(performance.now() - started).toBeGreaterThan(milliseconds - 2);
    expect(requests).toHaveLength(2);
  });
});

describe('the waits of a client of the SDK', () => {
  it('are up to 50 ms before the first retry, and up to 100 ms before the second', async () => {
    waitsAreLongest();
    const { calls } = await serviceThat(stubs, ['hang_up']);
    await expect(calls.EventBridge()).rejects.toMatchObject({
      $metadata: { attempts: 3, totalRetryDelay: 49 + 99 },
    });
  });

  it('are up to a second before the retry of a throttled request', async () => {
    waitsAreLongest();
    const { calls } = await serviceThat(stubs, [fault(400, 'ThrottlingException'), SUCCESS]);
    expect(await calls.EventBridge()).toMatchObject({ $metadata: { attempts: 2, totalRetryDelay: 999 } });
  });

  it('are at least what the service requests', async () => {
    waitsAreNone();
    timeStandsStill();
    const { calls } = await serviceThat(stubs, [
      fault(503, 'SlowDown', { 'x-amz-retry-after': '120' }),
      SUCCESS,
    ]);
    expect(await calls.EventBridge()).toMatchObject({ $metadata: { totalRetryDelay: 120 } });
  });
});
