import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { toMessageItem } from '../../shared/adapters/dynamodb/deliveries/message-records.ts';
import { bucketsFor, chunksFor } from '../../shared/domain/delivery/fan-out.ts';
import { type BenchMeans, type Length, runBench } from '../harness/command.ts';
import { type FunctionProcess, startFunction } from '../harness/function.ts';
import { environmentAt } from '../harness/stub-aws.ts';
import { bundledDispatch, ingressBody, MEGABYTES } from './dispatch.ts';
import { startStub, type Stub } from './stub-tables.ts';

/** How messages to so many subscriptions went. */
type Course = {
  what: 'sent' | 'killed in the middle' | 'repeated';
  subscriptions: number;
  messages: number;
  /** Messages that were acknowledged in the end, each sent to every subscription. */
  acknowledged: number;
  invocations: number;
  /** To the last job. */
  seconds: number;
  peakMegabytes: number;
  jobs: number;
  /** Of AWS. */
  calls: Record<string, number>;
};

type Figures = { megabytes: number; courses: readonly Course[] };

const QUEUE = 'long';

/** A message is a dead letter after as many receives. */
const MAX_INVOCATIONS = 50;

const sizes = { full: [1_000, 10_000, 100_000], short: [1_000] } as const;
const REPEATED = { full: 20_000, short: 3_000 } as const;
const REPEATS = 10;

async function measure(length: Length, { stack, say }: BenchMeans): Promise<Figures> {
  const file = await bundledDispatch(stack);
  const courses: Course[] = [];
  for (const subscriptions of sizes[length])
    for (const what of ['sent', 'killed in the middle'] as const) {
      say(`A message to ${subscriptions}, ${what}`);
      courses.push(await courseOf(file, { what, subscriptions, messages: 1 }));
    }
  const subscriptions = REPEATED[length];
  say(`${REPEATS} repeats at once of messages to ${subscriptions}, recorded by a version without pages`);
  courses.push(await courseOf(file, { what: 'repeated', subscriptions, messages: REPEATS }));
  return { megabytes: MEGABYTES, courses };
}

type Plan = Pick<Course, 'what' | 'subscriptions' | 'messages'>;

async function courseOf(bundle: string, { what, subscriptions, messages }: Plan): Promise<Course> {
  await using stack = new AsyncDisposableStack();
  const stub = await startStub(stack, { [QUEUE]: { subscriptions } });
  const start = (): FunctionProcess =>
    startFunction(stack, { bundle, env: environmentAt(stub.endpoint), megabytes: MEGABYTES });
  const ids = Array.from({ length: messages }, () => randomUUID());
  if (what === 'repeated') for (const id of ids) stub.keep(recordedWhole(id, subscriptions));
  const first = start();
  // Excludes the cold start.
  await first.invoke([]);
  stub.take();
  const begunAt = performance.now();
  if (what === 'killed in the middle') void killHalfway(stub, ids[0] ?? '', subscriptions, first);
  const { acknowledged, invocations, peakBytes } = await invokeAll(ids, first, start);
  const { calls, jobs } = stub.take();
  const lastJobAt = Math.max(...ids.map((id) => stub.sentAt(id)));
  const reached = ids.filter((id) => stub.reached(id) === subscriptions);
  return {
    what,
    subscriptions,
    messages,
    acknowledged: reached.filter((id) => acknowledged.has(id)).length,
    invocations,
    seconds: (lastJobAt - begunAt) / 1000,
    peakMegabytes: peakBytes / 2 ** 20,
    jobs,
    calls,
  };
}

/** Invokes dispatch with the messages that are not acknowledged, as SQS does, until none is left or they are dead letters. */
async function invokeAll(ids: readonly string[], first: FunctionProcess, start: () => FunctionProcess) {
  let [left, invocations, peakBytes] = [[...ids], 0, 0];
  let running = first;
  while (left.length > 0 && invocations < MAX_INVOCATIONS) {
    invocations += 1;
    const run = await running.invoke(left.map((id) => ingressBody(QUEUE, id)));
    if (run === undefined) running = start();
    else {
      peakBytes = Math.max(peakBytes, run.peakBytes);
      left = left.filter((_, index) => run.failed.includes(index));
    }
  }
  const open = new Set(left);
  return { acknowledged: new Set(ids.filter((id) => !open.has(id))), invocations, peakBytes };
}

async function killHalfway(
  stub: Stub,
  id: string,
  subscriptions: number,
  running: FunctionProcess,
): Promise<void> {
  while (stub.reached(id) < subscriptions / 2) await setTimeout(1);
  running.kill();
}

function recordedWhole(messageId: string, matched: number): Record<string, unknown> {
  const buckets = bucketsFor(matched);
  const acceptedAt = Date.now() - 60_000;
  return toMessageItem({
    key: { queue: QUEUE, messageId },
    acceptedAt,
    listedAt: acceptedAt,
    matched,
    filtered: 0,
    duplicates: 1,
    buckets,
    chunks: chunksFor(matched, buckets, 10) ?? 1,
    expiresAt: acceptedAt + 1e9,
  });
}

function faults({ courses }: Figures): readonly string[] {
  return courses
    .filter(({ acknowledged, messages }) => acknowledged < messages)
    .map(({ what, subscriptions }) => `A message to ${subscriptions}, ${what}, did not reach all of them.`);
}

process.exitCode = await runBench(
  { name: 'fan-out', measure, faults, keptIn: 'nowhere' },
  process.argv.slice(2),
);
