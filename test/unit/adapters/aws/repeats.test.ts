import { afterEach, describe, expect, it, vi } from 'vitest';
import type { AwsStub, StubAnswer } from '../../../support/aws-stub.ts';
import { everyClient, fault, faultOf, ourClients, serviceThat, SUCCESS } from './calls-of-every-client.ts';

const stubs: AwsStub[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(stubs.splice(0).map((stub) => stub.close()));
});

const waitsAreNone = () => vi.spyOn(Math, 'random').mockReturnValue(0);
const waitsAreLongest = () => vi.spyOn(Math, 'random').mockReturnValue(0.999_999);

/**
 * What a client waits for before its repeats from now on. A request's own timers, which end it, are none: a second to
 * connect, three to answer or what was left of them.
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
    ['was throttled by another name', 400, 'ProvisionedThroughputExceededException'],
    ['was throttled by status', 429, 'TooMany'],
    ['met a fault of the service', 500, 'InternalError'],
    ['met a service that is not there', 503, 'ServiceUnavailable'],
    ['met a gateway that got no answer', 504, 'GatewayTimeout'],
  ])('repeats a request that %s', async (_, status, name) => {
    waitsAreNone();
    const answer = faultOf(client, status, name);
    const { calls, requests } = await serviceThat(stubs, [answer, answer, SUCCESS]);
    await calls[client]();
    expect(requests).toHaveLength(3);
  });

  it.each<[string, StubAnswer]>([
    ['before it', 'hang_up'],
    ['in the middle of it', 'cut_off'],
  ])('repeats a request whose answer was lost %s', async (_, answer) => {
    waitsAreNone();
    const { calls, requests } = await serviceThat(stubs, [answer, answer, SUCCESS]);
    await calls[client]();
    expect(requests).toHaveLength(3);
  });

  it.each([
    ['is not permitted', 403, 'AccessDeniedException'],
    ['is not valid', 400, 'ValidationException'],
    ['names what is not there', 404, 'ResourceNotFoundException'],
    ['is refused by a condition', 400, 'ConditionalCheckFailedException'],
  ])('does not repeat a request that %s', async (_, status, name) => {
    const { calls, requests } = await serviceThat(stubs, [faultOf(client, status, name)]);
    await expect(calls[client]()).rejects.toMatchObject({ name, $metadata: { httpStatusCode: status } });
    expect(requests).toHaveLength(1);
  });

  it('makes a request three times at most', async () => {
    waitsAreNone();
    const { calls, requests } = await serviceThat(stubs, ['hang_up']);
    await expect(calls[client]()).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(requests).toHaveLength(3);
  });
});

describe('every client', () => {
  it('repeats a write that met a transaction on the same item', async () => {
    waitsAreNone();
    const { calls, requests } = await serviceThat(stubs, [
      fault(400, 'TransactionConflictException'),
      SUCCESS,
    ]);
    await calls.DynamoDB();
    expect(requests).toHaveLength(2);
  });

  it.each<StubAnswer>(['silence', 'stall'])(
    'gives a request three seconds where it gets %s, and makes it again',
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

describe.each(ourClients)('the waits of the client of %s', (client) => {
  it('are up to 50 ms before the first repeat, and up to 100 ms before the second', async () => {
    waitsAreLongest();
    const { calls } = await serviceThat(stubs, ['hang_up']);
    const waits = waited();
    const started = performance.now();
    await expect(calls[client]()).rejects.toThrow();
    expect(waits()).toEqual([49, 99]);
    // Timers may be a millisecond early.
    expect(performance.now() - started).toBeGreaterThan(49 + 99 - 2);
  });

  it('are up to a second before it repeats what was throttled', async () => {
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
  ])('are no less than the service asks for: %s', async (header, asked, milliseconds) => {
    waitsAreNone();
    const busy = fault(503, 'SlowDown', { [header]: asked });
    const { calls, requests } = await serviceThat(stubs, [busy, SUCCESS]);
    const waits = waited();
    const started = performance.now();
    await calls[client]();
    const [wait, ...others] = waits();
    expect(others).toEqual([]);
    expect(wait).toBeGreaterThan(milliseconds - 20);
    expect(wait).toBeLessThanOrEqual(milliseconds);
    expect(performance.now() - started).toBeGreaterThan(milliseconds - 20);
    expect(requests).toHaveLength(2);
  });
});

describe('the waits of a client of the SDK', () => {
  it('are up to 50 ms before the first repeat, and up to 100 ms before the second', async () => {
    waitsAreLongest();
    const { calls } = await serviceThat(stubs, ['hang_up']);
    await expect(calls.EventBridge()).rejects.toMatchObject({
      $metadata: { attempts: 3, totalRetryDelay: 49 + 99 },
    });
  });

  it('are up to a second before it repeats what was throttled', async () => {
    waitsAreLongest();
    const { calls } = await serviceThat(stubs, [fault(400, 'ThrottlingException'), SUCCESS]);
    expect(await calls.EventBridge()).toMatchObject({ $metadata: { attempts: 2, totalRetryDelay: 999 } });
  });

  it('are no less than the service asks for', async () => {
    waitsAreNone();
    const { calls } = await serviceThat(stubs, [
      fault(503, 'SlowDown', { 'x-amz-retry-after': '120' }),
      SUCCESS,
    ]);
    const { $metadata } = (await calls.EventBridge()) as { $metadata: { totalRetryDelay: number } };
    expect($metadata.totalRetryDelay).toBeGreaterThan(100);
    expect($metadata.totalRetryDelay).toBeLessThanOrEqual(120);
  });
});
