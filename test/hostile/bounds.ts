import { allKinds, type KindName } from './kinds/all-kinds.ts';
import type { Expected } from './kinds/kind.ts';
import type { AttemptSeen } from './messages.ts';

/** The limits of a run. */
export const bounds = {
  /** Milliseconds that an attempt, or an invocation with one round of attempts, may exceed the timeout by. */
  beyondTimeoutMs: 2_000,
  /** Bytes that the function may use beyond its idle memory. */
  memory: 200 * 1024 * 1024,
  /** Limits for the p99 of healthy deliveries relative to the control run, with `ofEach` hostile ones of each kind. */
  slowdowns: [
    { ofEach: 3, atMost: 1.5 },
    { ofEach: 20, atMost: 3 },
  ],
} as const;

/** The text of an outcome in the table. */
export const outcomeText = (result: Pick<AttemptSeen, 'outcome' | 'statusCode' | 'error'>): string =>
  `${result.outcome} ${result.statusCode ?? result.error ?? ''}`.trim();

export const expectedText = (expected: Expected): string =>
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

/** The unexpected outcomes and durations of attempts at a kind, one sentence each. */
export const faultsOf = (
  name: KindName,
  attempts: readonly AttemptSeen[],
  attemptTimeoutMs: number,
): string[] => {
  const { expected } = allKinds[name];
  const unexpected = attempts.filter((attempt) => !isAsExpected(expected, attempt));
  const slow = attempts.filter(({ durationMs }) => durationMs > attemptTimeoutMs + bounds.beyondTimeoutMs);
  return [
    ...[...new Set(unexpected.map(outcomeText))].map(
      (what) => `${name}: ${what} in place of ${expectedText(expected)}`,
    ),
    ...(slow.length === 0
      ? []
      : [`${name}: ${slow.length} attempts took more than 2 s longer than the timeout`]),
  ];
};
