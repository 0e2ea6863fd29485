import { inParallel } from '../../shared/adapters/in-parallel.ts';
import { bounds, faultsOf, outcomeText } from './bounds.ts';
import { allKinds, type KindName } from './kinds/all-kinds.ts';
import { BATCH } from './modelled-queue.ts';
import {
  HEALTHY,
  jobFor,
  startFunction,
  subscriptionsAt,
  type FunctionUnderTest,
  type Processes,
  type Receivers,
} from './run.ts';

/** The results of batches to receivers of one kind. Times in milliseconds. */
type KindResult = {
  kind: KindName;
  what: string;
  /** The texts of the different outcomes. */
  outcomes: string[];
  attempts: number;
  /** The longest time from the job on the queue to the record of its attempt. */
  longestMs: number;
  connections: number;
};

export type KindsResult = {
  kinds: KindResult[];
  /** The peak in bytes beyond the idle memory of the function. */
  memory: number;
  /** The longest invocation in milliseconds. */
  invocationMs: number;
  /** The violated limits, one sentence each. */
  broken: string[];
};

/** `atOnce`: deliveries in a batch, default 10. `sideBySide`: batches at the same time, default 1 as in Lambda. */
export type KindsRequest = {
  names: readonly KindName[];
  attemptTimeoutMs: number;
  atOnce?: number;
  sideBySide?: number;
};

/** A faster batch is followed by a second one, which finds anything that the receiver left on the connections. */
const QUICK_MS = 1_000;

/** How long to wait for an attempt beyond its timeout before the run fails. */
const PATIENCE_MS = 15_000;

/**
 * Sends one function process a batch for each kind, without retries, and returns the outcomes, times and memory with
 * the violated limits.
 */
export const measureKinds = async (
  { stack, signal }: Processes,
  receivers: Receivers,
  { names, attemptTimeoutMs, atOnce = BATCH, sideBySide = 1 }: KindsRequest,
): Promise<KindsResult> => {
  await using own = stack.use(new AsyncDisposableStack());
  const before = await receivers.connections();
  const underTest = await startFunction(
    { stack: own, signal },
    {
      attemptTimeoutMs,
      environments: { first: sideBySide, retry: 1 },
      subscriptions: [HEALTHY, ...names].flatMap((name) => subscriptionsAt(receivers, name, atOnce)),
      retries: false,
    },
    receivers,
  );
  handBatch(underTest, HEALTHY, atOnce);
  await underTest.seen.firstOf(HEALTHY, atOnce, PATIENCE_MS);
  await underTest.rest();

  await inParallel(names, sideBySide, (name) => measureOne(underTest, name, { attemptTimeoutMs, atOnce }));
  const { idle, peak } = await underTest.memory();
  const after = await receivers.connections();
  const kinds = names.map((name) => {
    const attempts = underTest.seen.of(name);
    return {
      kind: name,
      what: allKinds[name].what,
      outcomes: [...new Set(attempts.map(outcomeText))],
      attempts: attempts.length,
      longestMs: Math.max(...attempts.map(({ doneMs }) => doneMs)),
      connections: (after[name] ?? 0) - (before[name] ?? 0),
    };
  });
  const measured = { kinds, memory: peak - idle, invocationMs: longestOf(underTest) };
  return { ...measured, broken: brokenBy(underTest, measured, attemptTimeoutMs) };
};

const handBatch = (underTest: FunctionUnderTest, name: KindName | typeof HEALTHY, atOnce: number): void => {
  underTest.hand(Array.from({ length: atOnce }, (_, index) => jobFor(`${name}-${index + 1}`, name)));
};

const measureOne = async (
  underTest: FunctionUnderTest,
  name: KindName,
  { attemptTimeoutMs, atOnce }: Required<Pick<KindsRequest, 'attemptTimeoutMs' | 'atOnce'>>,
): Promise<void> => {
  const startedAt = performance.now();
  handBatch(underTest, name, atOnce);
  await underTest.seen.firstOf(name, atOnce, attemptTimeoutMs + PATIENCE_MS);
  if (performance.now() - startedAt > QUICK_MS) return;
  handBatch(underTest, name, atOnce);
  await underTest.seen.firstOf(name, 2 * atOnce, attemptTimeoutMs + PATIENCE_MS);
};

const longestOf = ({ invocations }: FunctionUnderTest): number =>
  Math.round(Math.max(...invocations.map(({ milliseconds }) => milliseconds)));

const brokenBy = (
  underTest: FunctionUnderTest,
  { kinds, memory, invocationMs }: Omit<KindsResult, 'broken'>,
  attemptTimeoutMs: number,
): string[] => {
  const names = kinds.map(({ kind }) => kind);
  const failed = underTest.invocations.reduce((sum, invocation) => sum + invocation.failed, 0);
  return [
    ...names.flatMap((name) => faultsOf(name, underTest.seen.of(name), attemptTimeoutMs)),
    ...kinds
      .filter(({ connections, attempts }) => connections > attempts)
      .map(
        ({ kind, connections, attempts }) => `${kind}: ${connections} connections for ${attempts} attempts`,
      ),
    ...(failed === 0 ? [] : [`${names.join(', ')}: ${failed} messages were not acknowledged`]),
    ...(memory <= bounds.memory ? [] : [`${names.join(', ')}: ${memory} bytes beyond the idle memory`]),
    ...(invocationMs <= attemptTimeoutMs + bounds.beyondTimeoutMs
      ? []
      : [`${names.join(', ')}: an invocation of ${invocationMs} ms`]),
  ];
};
