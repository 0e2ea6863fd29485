import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageItemOf } from '../../shared/adapters/dynamodb/message-item.ts';
import { bucketsFor, chunksFor } from '../../shared/domain/delivery/fan-out.ts';
import { bundle } from '../../test/support/bundle.ts';
import { type BenchMeans, runBench } from '../harness/command.ts';
import { median } from '../harness/figures.ts';
import { environmentAt } from '../harness/stub-aws.ts';
import { startLimited, type LimitedProcess } from './limited-process.ts';
import { startStub, type Stub } from './stub-tables.ts';

/** What came of some messages to so many subscriptions. */
type Course = {
  what: string;
  subscriptions: number;
  messages: number;
  /** Messages that were acknowledged in the end, each sent to every subscription. */
  acknowledged: number;
  invocations: number;
  seconds: number;
  peakMegabytes: number;
  jobs: number;
  /** Of AWS. */
  calls: Record<string, number>;
};

/** Seconds to the job of small messages to one subscription of another queue, by what was in their batch. */
type Beside = { batch: string; median: number; slowest: number };

type Figures = { megabytes: number; courses: readonly Course[]; beside: readonly Beside[] };

/** As deployed. */
const MEGABYTES = 512;

const QUEUE = 'everybody';

/** As often as SQS hands a message out. */
const MOST_INVOCATIONS = 50;

const sizes = { full: [1_000, 10_000, 100_000], short: [1_000] } as const;
const REPEATED = { full: 20_000, short: 3_000 } as const;
const BESIDE = { full: 10_000, short: 1_000 } as const;
const REPEATS = 10;

async function measure(length: 'full' | 'short', { stack, say }: BenchMeans): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const file = join(folder, 'dispatch.mjs');
  await bundle(new URL('../../functions/dispatch/handler.ts', import.meta.url), file);
  const courses: Course[] = [];
  for (const subscriptions of sizes[length]) {
    for (const what of ['sent', 'killed in the middle'] as const) {
      say(`A message to ${subscriptions}, ${what}`);
      courses.push(await inAWorld({ file, subscriptions, what, messages: 1 }));
    }
  }
  const subscriptions = REPEATED[length];
  say(`${REPEATS} repeats at once of messages to ${subscriptions}, recorded by a version without pages`);
  courses.push(await inAWorld({ file, subscriptions, what: 'repeated', messages: REPEATS }));
  const beside: Beside[] = [];
  for (const large of [0, 1, 5]) {
    say(`Small messages in a batch with ${large} large ones`);
    beside.push(await smallBeside(file, large, BESIDE[length]));
  }
  return { megabytes: MEGABYTES, courses, beside };
}

type Plan = Pick<Course, 'subscriptions' | 'messages'> & {
  file: string;
  what: 'sent' | 'killed in the middle' | 'repeated';
};

async function inAWorld({ file, subscriptions, messages, what }: Plan): Promise<Course> {
  await using stack = new AsyncDisposableStack();
  const stub = await startStub(stack, { [QUEUE]: subscriptions });
  const start = (): LimitedProcess =>
    startLimited(stack, { bundle: file, env: environmentAt(stub.endpoint), megabytes: MEGABYTES });
  const ids = Array.from({ length: messages }, () => randomUUID());
  if (what === 'repeated') for (const id of ids) stub.keep(recordedWhole(id, subscriptions));
  // The cold start is not what is measured.
  const first = start();
  await first.invoke([]);
  stub.take();
  const begunAt = performance.now();
  if (what === 'killed in the middle') void killedHalfway(stub, ids[0] ?? '', subscriptions, first);
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

/** Invokes dispatch with what is not acknowledged, as SQS does, until there is nothing or each has come too often. */
async function invokeAll(ids: readonly string[], first: LimitedProcess, start: () => LimitedProcess) {
  let [left, invocations, peakBytes] = [[...ids], 0, 0];
  let running = first;
  while (left.length > 0 && invocations < MOST_INVOCATIONS) {
    invocations += 1;
    const invoked = await running.invoke(left.map((id) => bodyOf(id)));
    if (invoked === undefined) running = start();
    else {
      peakBytes = Math.max(peakBytes, invoked.peakBytes);
      left = left.filter((_, index) => invoked.failed.includes(index));
    }
  }
  const open = new Set(left);
  return { acknowledged: new Set(ids.filter((id) => !open.has(id))), invocations, peakBytes };
}

const SMALL = 'small';
const BATCH = 10;
const ROUNDS = 5;

/** Of five batches of ten. */
async function smallBeside(file: string, large: number, subscriptions: number): Promise<Beside> {
  await using stack = new AsyncDisposableStack();
  const stub = await startStub(stack, { [QUEUE]: subscriptions, [SMALL]: 1 });
  const env = environmentAt(stub.endpoint);
  const running = startLimited(stack, { bundle: file, env, megabytes: MEGABYTES });
  await running.invoke([]);
  const seconds: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const ids = Array.from({ length: BATCH }, () => randomUUID());
    const begunAt = performance.now();
    await running.invoke(ids.map((id, index) => bodyOf(id, index < large ? QUEUE : SMALL)));
    seconds.push(...ids.slice(large).map((id) => (stub.sentAt(id) - begunAt) / 1000));
  }
  return { batch: `${large} of ${BATCH} large`, median: median(seconds), slowest: Math.max(...seconds) };
}

async function killedHalfway(
  stub: Stub,
  id: string,
  subscriptions: number,
  running: LimitedProcess,
): Promise<void> {
  while (stub.reached(id) < subscriptions / 2) await new Promise((resolve) => setTimeout(resolve, 1));
  running.kill();
}

function bodyOf(id: string, queue = QUEUE): string {
  return JSON.stringify({ queue, id, type: 'order.created', data: { note: 'x'.repeat(1_000) } });
}

function recordedWhole(messageId: string, matched: number): Record<string, unknown> {
  const buckets = bucketsFor(matched);
  const acceptedAt = Date.now() - 60_000;
  return messageItemOf({
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
