import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bounds, faultsOf } from '../../hostile/bounds.ts';
import { allKinds, kindNames, type KindName } from '../../hostile/kinds/all-kinds.ts';
import { measureKinds, type KindsResult } from '../../hostile/measure-kinds.ts';
import { startReceivers } from '../../hostile/run.ts';
import type { AttemptSeen } from '../../hostile/messages.ts';

const ATTEMPT_TIMEOUT_MS = 4_000;
/** Together ten concurrent deliveries, the batch size of the function. */
const AT_ONCE = 2;
const SIDE_BY_SIDE = 5;

/** A short form of `npm run hostile`: all kinds, five at a time, in one function process. */
describe('the deliver function at hostile receivers', () => {
  const stack = new AsyncDisposableStack();
  let result: KindsResult;

  beforeAll(async () => {
    const processes = { stack, signal: new AbortController().signal };
    const receivers = await startReceivers(processes, kindNames);
    result = await measureKinds(processes, receivers, {
      names: kindNames,
      attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
      atOnce: AT_ONCE,
      sideBySide: SIDE_BY_SIDE,
    });
  }, 90_000);
  afterAll(() => stack.disposeAsync());

  const brokenBy = (name: KindName): string[] => result.broken.filter((what) => what.startsWith(`${name}: `));

  it.each(kindNames.map((name) => ({ name, what: allKinds[name].what })))(
    'records the expected outcome in time, with one connection per attempt: $what',
    ({ name }) => {
      expect(result.kinds.find(({ kind }) => kind === name)?.attempts).toBeGreaterThanOrEqual(AT_ONCE);
      expect(brokenBy(name)).toEqual([]);
    },
  );

  it('acknowledges every message, as soon as the slowest attempt is over', () => {
    expect(result.broken).toEqual([]);
    expect(result.invocationMs).toBeLessThan(ATTEMPT_TIMEOUT_MS + bounds.beyondTimeoutMs);
  });

  it('uses less than 200 MB beyond its idle memory with all kinds of receivers', () => {
    expect(result.memory).toBeLessThan(200 * 1024 * 1024);
  });
});

const anAttemptSeen = (overrides: Partial<AttemptSeen>): AttemptSeen => ({
  kind: 'attempt',
  subscriptionId: 'hang-1',
  number: 1,
  outcome: 'failed',
  error: 'timeout: before an answer',
  durationMs: 2_000,
  waitedMs: 1,
  doneMs: 2_001,
  ...overrides,
});

describe('an attempt at a hostile receiver', () => {
  it('is correct with the expected outcome, error and detail', () => {
    expect(faultsOf('hang', [anAttemptSeen({})], 2_000)).toEqual([]);
  });

  it.each([
    ['another outcome', { outcome: 'delivered', statusCode: 200, error: undefined }],
    ['another error', { error: 'connection_reset: before an answer' }],
    ['another detail', { error: 'timeout: during the TLS handshake' }],
    ['a status in addition', { statusCode: 200 }],
  ] as const)('is a fault with %s', (_, overrides) => {
    expect(faultsOf('hang', [anAttemptSeen({}), anAttemptSeen(overrides)], 2_000)).toHaveLength(1);
  });

  it('is a fault with another status', () => {
    const answered = { outcome: 'failed', error: undefined } as const;
    expect(faultsOf('status_999', [anAttemptSeen({ ...answered, statusCode: 999 })], 2_000)).toEqual([]);
    expect(faultsOf('status_999', [anAttemptSeen({ ...answered, statusCode: 998 })], 2_000)).toEqual([
      'status_999: failed 998 in place of failed 999',
    ]);
  });

  it('is a fault if it takes more than 2 s beyond the timeout', () => {
    expect(faultsOf('hang', [anAttemptSeen({ durationMs: 4_000 })], 2_000)).toEqual([]);
    expect(faultsOf('hang', [anAttemptSeen({ durationMs: 4_001 })], 2_000)).toHaveLength(1);
  });
});
