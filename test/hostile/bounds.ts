import { allKinds, type KindName } from './kinds/all-kinds.ts';
import type { Expected } from './kinds/kind.ts';
import type { AttemptSeen } from './messages.ts';

/** What a run has to keep to. */
export const bounds = {
  /** Milliseconds that an attempt, and the invocation that makes no other, may take beyond the attempt timeout. */
  beyondTimeoutMs: 2_000,
  /** Bytes that the function may need beyond what it needs at rest. */
  memory: 200 * 1024 * 1024,
  /** How many times as long as in the control run the p99 of healthy deliveries may be, beside so many hostile ones of each kind. */
  slowdowns: [
    { ofEach: 3, atMost: 1.5 },
    { ofEach: 20, atMost: 3 },
  ],
} as const;

/** An outcome as the table says it. */
export const worded = (result: Pick<AttemptSeen, 'outcome' | 'statusCode' | 'error'>): string =>
  `${result.outcome} ${result.statusCode ?? result.error ?? ''}`.trim();

export const wordedExpectation = (expected: Expected): string =>
  'statusCode' in expected
    ? `${expected.outcome} ${expected.statusCode}`
    : `${expected.outcome} ${expected.error}${expected.detail === undefined ? '' : `: ${expected.detail}`}`;

const isAsExpected = (expected: Expected, attempt: AttemptSeen): boolean => {
  if (attempt.outcome !== expected.outcome) return false;
  if ('statusCode' in expected) return attempt.statusCode === expected.statusCode;
  const [error, ...details] = attempt.error?.split(': ') ?? [];
  return (
    attempt.statusCode === undefined &&
    error === expected.error &&
    (expected.detail === undefined || details.join(': ') === expected.detail)
  );
};

/** What is wrong with attempts at a kind, a sentence each. */
export const faultsOf = (
  name: KindName,
  attempts: readonly AttemptSeen[],
  attemptTimeoutMs: number,
): string[] => {
  const { expected } = allKinds[name];
  const unexpected = attempts.filter((attempt) => !isAsExpected(expected, attempt));
  const slow = attempts.filter(({ durationMs }) => durationMs > attemptTimeoutMs + bounds.beyondTimeoutMs);
  return [
    ...[...new Set(unexpected.map(worded))].map(
      (what) => `${name}: ${what} in place of ${wordedExpectation(expected)}`,
    ),
    ...(slow.length === 0 ? [] : [`${name}: ${slow.length} attempts took longer than the timeout and 2 s`]),
  ];
};
