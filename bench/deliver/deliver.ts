import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../../local/install/problem.mjs';
import { parseWork } from '../../shared/wire/jobs/delivery-job.ts';
import { bundle } from '../../test/support/bundle.ts';
import { type BenchMeans, type Length, runBench } from '../harness/command.ts';
import { median, type Ratio, type Spread, spreadOf, sumOf } from '../harness/figures.ts';
import { type Run, startFunction } from '../harness/function.ts';
import { type Counts, startStubAws, subscriptionIdAt, type StubAws } from '../harness/stub-aws.ts';

/** deliver, dispatch before it, a worker in place of deliver, a bare program with the same calls and request, and the request alone. */
const contestants = ['dispatch', 'deliver', 'worker', 'bare', 'post'] as const;
type Contestant = (typeof contestants)[number];

type Figures = {
  dataBytes: number;
  rounds: number;
  deliveriesInRound: number;
  ratios: readonly Ratio[];
  programs: readonly Cost[];
};

/** Of one delivery, over all rounds. */
type Cost = {
  fanOut: number;
  program: Contestant;
  /** Seconds of processor time for 1,000. */
  cpuSeconds: Spread;
  allocatedKilobytes: number;
  /** Of V8's heap after a collection in the first and the last round, which shows leaks. */
  heapMegabytes: { first: number; last: number };
  /** The most memory since the start of the process. */
  peakMegabytes: number;
  /** Requests to AWS and to subscribers. */
  calls: Counts;
};

/** A single delivery, one chunk, and ten chunks. */
const WIDEST = 100;
const lengths = {
  full: { fanOuts: [1, 10, WIDEST], rounds: 20, deliveries: 1_000 },
  short: { fanOuts: [1], rounds: 5, deliveries: 100 },
} as const;

/** Two runs of the same code on a shared machine differ by as much. */
const tolerance = 0.15;

const SUBSCRIBERS = 10;

const DATA_BYTES = 1_000;

async function measure(length: Length, { stack, signal, say }: BenchMeans): Promise<Figures> {
  const { fanOuts, rounds: wanted, deliveries } = lengths[length];
  const programs = await startPrograms(stack);
  const ratios: Ratio[] = [];
  const costs: Cost[] = [];
  for (const fanOut of fanOuts) {
    say(`Comparing at fan-out ${fanOut}`);
    programs.stub.addQueue(`fan-out-${fanOut}`, fanOut);
    const rounds: Round[] = [];
    while (rounds.length < WARM_UP + wanted) {
      signal.throwIfAborted();
      rounds.push(await round(programs, fanOut, deliveries));
    }
    const measured = rounds.slice(WARM_UP);
    const byBare = measured.map(({ deliver, bare }) => deliver.cpuMs / bare.cpuMs);
    const name = `processor time of deliver by a bare program's, fan-out ${fanOut}`;
    ratios.push({ name, ratio: median(byBare), tolerance });
    const byFunction = measured.map(({ deliver, worker }) => worker.cpuMs / deliver.cpuMs);
    const worker = `processor time of a worker by deliver's, fan-out ${fanOut}`;
    ratios.push({ name: worker, ratio: median(byFunction), tolerance });
    if (fanOut === 1) ratios.push(growthOf(byBare));
    for (const program of contestants)
      costs.push({
        fanOut,
        program,
        ...costOf(
          measured.map((runs) => runs[program]),
          deliveries,
        ),
      });
  }
  return { dataBytes: DATA_BYTES, rounds: wanted, deliveriesInRound: deliveries, ratios, programs: costs };
}

/** Shows whether deliveries become more expensive with the age of the process. */
function growthOf(byBare: readonly number[]): Ratio {
  const fifth = Math.ceil(byBare.length / 5);
  return {
    name: 'processor time of the last fifth of many deliveries by the first',
    ratio: median(byBare.slice(-fifth)) / median(byBare.slice(0, fifth)),
    tolerance,
  };
}

type Counted = Run & { calls: Counts };
type Round = Record<Contestant, Counted>;

/** Rounds before the compiler has optimised the programs. */
const WARM_UP = 2;

/** Alternates the programs, so that other work on the machine disturbs all of them alike. */
async function round(programs: Programs, fanOut: number, deliveries: number): Promise<Round> {
  const { stub } = programs;
  const counted = async (program: Contestant, bodies: readonly string[]): Promise<Counted> => {
    stub.takeCounts();
    return { ...(await programs[program](bodies)), calls: stub.takeCounts() };
  };
  const dispatch = await counted('dispatch', ingressMessages(`fan-out-${fanOut}`, deliveries / fanOut));
  const jobs = stub.queues.takeJobs();
  const ordered = sumOf(jobs, deliveriesIn);
  if (ordered !== deliveries)
    throw new Problem(`dispatch sent jobs for ${ordered} deliveries in place of ${deliveries}.`);
  return {
    dispatch,
    deliver: await counted('deliver', jobs),
    worker: await counted('worker', jobs),
    bare: await counted('bare', jobs),
    post: await counted('post', jobs),
  };
}

/** @throws TypeError for an unreadable job */
function deliveriesIn(body: string): number {
  const parsed = parseWork(body);
  if (!parsed.ok) throw new TypeError(`A job cannot be read: ${parsed.reason}`);
  return parsed.value.kind === 'chunk' ? parsed.value.subscriptionIds.length : 1;
}

function costOf(runs: readonly Counted[], deliveries: number): Omit<Cost, 'fanOut' | 'program'> {
  const calls: Counts = {};
  for (const run of runs)
    for (const [name, count] of Object.entries(run.calls))
      calls[name] = (calls[name] ?? 0) + count / (runs.length * deliveries);
  const heap = runs.map(({ heapBytes }) => heapBytes / 1e6);
  return {
    cpuSeconds: spreadOf(runs.map(({ cpuMs }) => cpuMs / deliveries)),
    allocatedKilobytes: median(runs.map(({ allocatedBytes }) => allocatedBytes / deliveries / 1000)),
    heapMegabytes: { first: heap.at(0) ?? Number.NaN, last: heap.at(-1) ?? Number.NaN },
    peakMegabytes: Math.max(...runs.map(({ peakBytes }) => peakBytes)) / 2 ** 20,
    calls,
  };
}

/** @throws Problem when a message was not acknowledged */
type Program = (bodies: readonly string[]) => Promise<Run>;

type Programs = Record<Contestant, Program> & { stub: StubAws };

/** For undici, which is CommonJS. The long name cannot collide with a name in the minified bundle. */
const REQUIRE =
  "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);";

/** Headers of a connection, not of a message. */
const OF_CONNECTION = new Set(['host', 'connection', 'content-length']);

async function startPrograms(stack: AsyncDisposableStack): Promise<Programs> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const stub = await startStubAws(stack, { subscribers: SUBSCRIBERS });
  const started = async (name: string, entry: string, variables = {}, substitutes = {}): Promise<Program> => {
    const file = join(folder, `${name}.mjs`);
    await bundle(new URL(entry, import.meta.url), file, substitutes);
    const env = { ...stub.environment, UV_THREADPOOL_SIZE: '64', ...variables };
    const running = startFunction(stack, { bundle: file, env });
    return async (bodies) => {
      const run = await running.invoke(bodies);
      if (run === undefined) throw new Problem(`${name} ended early. ${running.complaint()}`);
      if (run.failed.length > 0)
        throw new Problem(`${name} did not acknowledge ${run.failed.length} of ${bodies.length} messages.`);
      return run;
    };
  };
  const dispatch = await started('dispatch', '../../functions/dispatch/handler.ts');
  const deliver = await started('deliver', '../../functions/deliver/handler.ts');
  // The requests that the bare programs repeat, for a single delivery and for a chunk.
  for (const fanOut of [1, 10]) {
    stub.addQueue(`template-${fanOut}`, fanOut);
    await dispatch(ingressMessages(`template-${fanOut}`, 1));
    await deliver(stub.queues.takeJobs());
  }
  const { headers, ...requests } = stub.lastRequests();
  const template = {
    ...requests,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.has(name))),
    urls: Object.fromEntries(
      Array.from({ length: WIDEST }, (_, index) => [subscriptionIdAt(index), stub.subscriberAt(index)]),
    ),
  };
  const file = join(folder, 'template.json');
  await writeFile(file, JSON.stringify(template));
  const received = await started('worker', 'worker.ts', { BENCH_BATCH: '1000000' });
  const worker: Program = (bodies) => {
    stub.queues.add('delivery', bodies);
    return received(bodies);
  };
  const withRequire = { banner: { js: REQUIRE } };
  const bare = await started('bare', 'bare.ts', { BENCH_TEMPLATE: file }, withRequire);
  const posting = { BENCH_TEMPLATE: file, BENCH_POSTS_ONLY: 'true' };
  const post = await started('post', 'bare.ts', posting, withRequire);
  return { stub, dispatch, deliver, worker, bare, post };
}

/** Bodies of the ingress queue with `DATA_BYTES` of data each. */
function ingressMessages(queue: string, count: number): string[] {
  return Array.from({ length: count }, () => {
    const line = { sku: 'SKU-1000', name: 'Ordinary thing', quantity: 2, price: 1995 };
    const customer = { id: 4711, name: 'Erika Mustermann', country: 'DE' };
    const lines = Array.from({ length: 8 }, () => line);
    const order = { orderId: randomUUID(), customer, lines, total: 31920, note: '' };
    const data = { ...order, note: 'x'.repeat(DATA_BYTES - JSON.stringify(order).length) };
    return JSON.stringify({ queue, id: randomUUID(), type: 'order.created', data });
  });
}

process.exitCode = await runBench({ name: 'deliver', measure }, process.argv.slice(2));
