import { describe, expect, it } from 'vitest';

import { faultsOf } from '../../hostile/bounds.ts';
import type { AttemptSeen } from '../../hostile/messages.ts';

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
