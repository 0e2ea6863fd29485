import { inParallel } from '../../shared/adapters/in-parallel.ts';
import { bounds, faultsOf, worded } from './bounds.ts';
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

/** What became of batches to receivers of one kind. Times in milliseconds. */
export type KindResult = {
  kind: KindName;
  what: string;
  /** The outcomes that there were, by their words. */
  outcomes: string[];
  attempts: number;
  /** From the job on the queue to the record of its attempt, the longest. */
  longestMs: number;
  connections: number;
};

export type KindsResult = {
  kinds: KindResult[];
  /** Bytes that the function needed at most beyond what it needs at rest. */
  memory: number;
  /** The longest invocation in milliseconds. */
  invocationMs: number;
  /** What was against the bounds, a sentence each. */
  broken: string[];
};

/** `atOnce`: deliveries in a batch, default 10. `sideBySide`: batches that the process has at a time, default 1, as a function of Lambda. */
export type KindsRequest = {
  names: readonly KindName[];
  attemptTimeoutMs: number;
  atOnce?: number;
  sideBySide?: number;
};

/** A batch over sooner is followed by another, which finds whatever the first left on the connections that it gave back. */
const QUICK_MS = 1_000;

/** How much later than allowed an attempt may be before it is not waited for. */
const PATIENCE_MS = 15_000;

/**
 * Hands one process of the function a batch for each kind, without retries, and looks at what becomes of them and at its
 * memory.
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
      outcomes: [...new Set(attempts.map(worded))],
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
    ...(failed === 0 ? [] : [`${names.join(', ')}: ${failed} messages would come again`]),
    ...(memory <= bounds.memory ? [] : [`${names.join(', ')}: ${memory} bytes beyond those at rest`]),
    ...(invocationMs <= attemptTimeoutMs + bounds.beyondTimeoutMs
      ? []
      : [`${names.join(', ')}: an invocation of ${invocationMs} ms`]),
  ];
};
