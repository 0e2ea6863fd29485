import { describe, expect, it } from 'vitest';

import { faultsOf } from '../../hostile/bounds.ts';
import { allKinds } from '../../hostile/kinds/all-kinds.ts';
import { latenciesOf } from '../../hostile/latencies.ts';
import type { AttemptSeen } from '../../hostile/messages.ts';
import { modelledQueue, type Invocation } from '../../hostile/modelled-queue.ts';
import { neighbours } from '../../hostile/neighbours.ts';

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

describe('quantiles of latencies', () => {
  it('use the nearest rank: of 300 deliveries, three may be slower than p99', () => {
    const all = Array.from({ length: 300 }, (_, index) => ({ waitedMs: index + 1, doneMs: 2 * (index + 1) }));
    expect(latenciesOf(all.toReversed())).toEqual({
      deliveries: 300,
      waited: { p50: 150, p99: 297 },
      done: { p50: 300, p99: 594 },
    });
  });
});

describe('the modelled queue', () => {
  it('gives a free environment up to ten messages, and frees it when all are processed', async () => {
    const batches: number[] = [];
    const endings: (() => void)[] = [];
    const ended: Invocation[] = [];
    const environment = async (records: readonly unknown[]) => {
      batches.push(records.length);
      await new Promise<void>((resolve) => endings.push(resolve));
      return { batchItemFailures: [] };
    };
    const queue = modelledQueue([environment, environment], (invocation) => ended.push(invocation));
    for (let message = 0; message < 25; message += 1) queue.send('{}');
    // Messages become visible one turn of the event loop after sending, and are received one turn later.
    const aTurn = async () => {
      for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    };
    await aTurn();
    expect(batches).toEqual([10, 10]);
    endings[0]?.();
    await aTurn();
    expect(batches).toEqual([10, 10, 5]);
    expect(ended).toHaveLength(1);
    expect(queue.mostBusy()).toBe(2);
  });
});

describe('the kinds of hostile receiver', () => {
  it('are more than 60, at least 20 of them in the runs beside healthy deliveries', () => {
    expect(Object.keys(allKinds).length).toBeGreaterThan(60);
    expect(new Set(neighbours).size).toBeGreaterThanOrEqual(20);
  });
});
