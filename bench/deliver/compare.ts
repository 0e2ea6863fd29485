import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../../local/install/problem.mjs';
import { parseWork } from '../../shared/wire/jobs/delivery-job.ts';
import { median, spreadOf, sumOf, type Spread } from '../harness/figures.ts';
import { startStubAws, subscriptionIdAt, type Counts, type StubAws } from '../harness/stub-aws.ts';
import { startFunction, type MeasuredFunction, type Run } from './function.ts';

/** The function, the one before it, and what it is held against. */
export type Programs = {
  stub: StubAws;
  dispatch: MeasuredFunction;
  deliver: MeasuredFunction;
  /** The same calls and the same request. */
  bare: MeasuredFunction;
  /** The same request alone. */
  post: MeasuredFunction;
};

/** A fan-out that is compared: all of one chunk. */
export const FAN_OUT = 10;

/** The widest fan-out that is compared: ten chunks. */
export const WIDE = 100;

const SUBSCRIBERS = 10;

/** So that log lines have a trace, as they do in Lambda. */
const TRACE = { _X_AMZN_TRACE_ID: 'Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=0' };

/** Of a connection, not of a message. */
const OF_CONNECTION = new Set(['host', 'connection', 'content-length']);

export async function startPrograms(stack: AsyncDisposableStack): Promise<Programs> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const stub = await startStubAws(stack, { subscribers: SUBSCRIBERS });
  const started = (name: string, entry: string, env = {}) =>
    startFunction(stack, {
      name,
      entry: new URL(entry, import.meta.url),
      env: { ...stub.environment, ...TRACE, ...env },
      folder,
    });
  const dispatch = await started('dispatch', '../../functions/dispatch/handler.ts');
  const deliver = await started('deliver', '../../functions/deliver/handler.ts');
  for (const fanOut of [1, FAN_OUT]) {
    stub.addQueue(`template-${fanOut}`, fanOut);
    await dispatch(ingressMessages(`template-${fanOut}`, 1));
    await deliver(stub.takeJobs());
  }
  const { headers, ...requests } = stub.lastRequests();
  const template = {
    ...requests,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.has(name))),
    urls: Object.fromEntries(
      Array.from({ length: WIDE }, (_, index) => [subscriptionIdAt(index), stub.subscriberAt(index)]),
    ),
  };
  const file = join(folder, 'template.json');
  await writeFile(file, JSON.stringify(template));
  const bare = await started('bare-calls', 'bare-calls.ts', { BENCH_TEMPLATE: file });
  const post = await started('bare-post', 'bare-post.ts', { BENCH_TEMPLATE: file });
  return { stub, dispatch, deliver, bare, post };
}

/** Bytes of a message's data. */
export const DATA_BYTES = 1_000;

/** Bodies of the ingress queue: orders as a shop might tell of them. */
export function ingressMessages(queue: string, count: number): string[] {
  const line = (number: number) => ({
    sku: `SKU-${number}`,
    name: 'Ordinary thing',
    quantity: 2,
    price: 1995,
  });
  const order = () => ({
    orderId: randomUUID(),
    customer: { id: 4711, name: 'Erika Mustermann', country: 'DE' },
    lines: Array.from({ length: 8 }, (_, index) => line(1000 + index)),
    total: 31920,
    note: '',
  });
  const padded = (data: object) => ({ ...data, note: 'x'.repeat(DATA_BYTES - JSON.stringify(data).length) });
  return Array.from({ length: count }, () =>
    JSON.stringify({ queue, id: randomUUID(), type: 'order.created', data: padded(order()) }),
  );
}

/** Each by a delivery: one message to one subscriber. */
export type Cost = {
  /** Seconds of processor time for 1,000. */
  cpuSeconds: Spread;
  allocatedKilobytes: number;
  /** The most memory that the process had since it began. */
  peakMegabytes: number;
  /** Requests to AWS and to subscribers. */
  calls: Counts;
};

export type Comparison = Record<Contestant, Cost> & {
  fanOut: number;
  rounds: number;
  deliveriesInRound: number;
  /** Seconds of processor time of both for 1,000 deliveries. */
  bothCpuSeconds: number;
  /** deliver by bare, each of the same round. */
  ratio: Spread;
};

type Contestant = 'dispatch' | 'deliver' | 'bare' | 'post';

type Round = Record<Contestant, { run: Run; counts: Counts }>;

/** One after the other in each round, so that what else the machine does meets all of them alike. */
export async function compare(
  programs: Programs,
  fanOut: number,
  { rounds: wanted, deliveries }: { rounds: number; deliveries: number },
  signal: AbortSignal,
): Promise<Comparison> {
  programs.stub.addQueue(`fan-out-${fanOut}`, fanOut);
  // Until the compiler has seen them often enough, programs take some times longer.
  await round(programs, fanOut, deliveries);
  await round(programs, fanOut, deliveries);
  const rounds: Round[] = [];
  for (let number = 0; number < wanted; number += 1) {
    signal.throwIfAborted();
    rounds.push(await round(programs, fanOut, deliveries));
  }
  const costOf = (program: Contestant): Cost => {
    const all = rounds.map((each) => each[program]);
    return cost(all, deliveries);
  };
  const [dispatch, deliver] = [costOf('dispatch'), costOf('deliver')];
  return {
    fanOut,
    rounds: wanted,
    deliveriesInRound: deliveries,
    dispatch,
    deliver,
    bothCpuSeconds: dispatch.cpuSeconds.median + deliver.cpuSeconds.median,
    bare: costOf('bare'),
    post: costOf('post'),
    ratio: spreadOf(rounds.map(({ deliver: ours, bare }) => ours.run.cpuMs / bare.run.cpuMs)),
  };
}

async function round(
  { stub, dispatch, deliver, bare, post }: Programs,
  fanOut: number,
  deliveries: number,
): Promise<Round> {
  const counted = async (program: MeasuredFunction, bodies: readonly string[]) => {
    stub.takeCounts();
    return { run: await program(bodies), counts: stub.takeCounts() };
  };
  const dispatched = await counted(dispatch, ingressMessages(`fan-out-${fanOut}`, deliveries / fanOut));
  const jobs = stub.takeJobs();
  const ordered = sumOf(jobs, deliveriesIn);
  if (ordered !== deliveries)
    throw new Problem(`dispatch ordered ${ordered} deliveries where there are ${deliveries}.`);
  return {
    dispatch: dispatched,
    deliver: await counted(deliver, jobs),
    bare: await counted(bare, jobs),
    post: await counted(post, jobs),
  };
}

/** @throws TypeError for what is no job */
function deliveriesIn(body: string): number {
  const parsed = parseWork(body);
  if (!parsed.ok) throw new TypeError(`A job cannot be read: ${parsed.reason}`);
  return parsed.value.kind === 'chunk' ? parsed.value.subscriptionIds.length : 1;
}

function cost(runs: readonly { run: Run; counts: Counts }[], deliveries: number): Cost {
  const calls: Counts = {};
  for (const { counts } of runs)
    for (const [name, count] of Object.entries(counts))
      calls[name] = (calls[name] ?? 0) + count / (runs.length * deliveries);
  return {
    cpuSeconds: spreadOf(runs.map(({ run }) => run.cpuMs / deliveries)),
    allocatedKilobytes: median(runs.map(({ run }) => run.allocatedBytes / deliveries / 1000)),
    peakMegabytes: Math.max(...runs.map(({ run }) => run.peakResidentBytes)) / 2 ** 20,
    calls,
  };
}
