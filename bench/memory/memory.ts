import { fork } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import * as z from 'zod';
import { AWS_CALL_MS } from '../../cli/commands/plan/operations.ts';
import { builtInPrices, computeCost } from '../../cli/commands/plan/prices.ts';
import { buildPortalPage } from '../../infra/portal-page.ts';
import { Problem } from '../../local/install/problem.mjs';
import { everyFunction, type FunctionName, MEMORY_MEGABYTES } from '../../shared/config/rules.ts';
import { bundle } from '../../test/support/bundle.ts';
import { certificateAuthority } from '../../test/support/certificates.ts';
import { anSqsRecord } from '../../test/support/sqs-event.ts';
import { type BenchMeans, type Length, runBench } from '../harness/command.ts';
import { meanOf, median, quantile } from '../harness/figures.ts';
import { heapFlags, limitProcessor, shareOnLambda } from '../harness/processor.ts';
import { failedAnswer, QUEUE, smallestEvents } from '../harness/smallest-events.ts';
import { startStubAws } from '../harness/stub-aws.ts';

/** `busy`: ten messages to ten subscribers each. `largest`: the same with 1 MB, for memory alone. */
type Load = 'smallest' | 'busy' | 'largest';

type Row = {
  function: FunctionName;
  load: Load;
  megabytes: number;
  /** The first invocation of an instance that was loaded with a whole processor, as by Lambda. */
  firstMs: number;
  p50Ms: number;
  p99Ms: number;
  cpuMs: number;
  /** Of a million invocations: list prices of us-east-1. */
  usd: number;
  /** The most memory since the start of the process. */
  peakMegabytes: number;
};

/**
 * `cheapest`: at the smallest load, of the sizes that keep p99 of each load within `SLOWER` and have memory for the
 * largest. Lists, for which the API has a whole processor, are not among the loads
 * (docs/operations.md#limits-of-the-api).
 */
type Choice = { function: FunctionName; today: number; cheapest: number; usd: number; usdToday: number };

/** `limitedBy`: how the processor was. */
type Figures = { limitedBy: string; invocations: number; choices: readonly Choice[]; rows: readonly Row[] };

const SIZES = [256, 384, 512, 768, 1_024];

/** Of p99 today. */
const SLOWER = 1.1;

/** Part of its memory that a function may take. */
const FULL = 0.9;

/** As `posthaste plan` assumes. */
const SUBSCRIBER_MS = 100;

/**
 * For each function. An instance is warmed up with a whole processor, because its first hundred invocations take three
 * times as much as those of its later life.
 */
const lengths = {
  full: {
    instances: 2,
    starts: 5,
    warmUps: { smallest: 100, busy: 20, largest: 0 },
    rounds: { smallest: 150, busy: 50, largest: 3 },
  },
  short: {
    instances: 1,
    starts: 1,
    warmUps: { smallest: 2, busy: 1, largest: 0 },
    rounds: { smallest: 3, busy: 2, largest: 1 },
  },
} as const;

/** Between two invocations, so that each begins with a whole quota. */
const PAUSE_MS = 20;

const MILLION = 1e6;

async function measure(length: Length, { stack, signal, say }: BenchMeans): Promise<Figures> {
  const { instances, starts, ...counts } = lengths[length];
  const world = await startWorld(stack);
  const rows: Row[] = [];
  for (const name of everyFunction) {
    say(`Measuring ${name}`);
    const [first, usual]: [Seen[], Seen[]] = [[], []];
    for (let start = 0; start < starts; start += 1) first.push(...(await observeStarts(world, name, signal)));
    for (let instance = 0; instance < instances; instance += 1)
      usual.push(...(await observeInstances(world, name, counts, signal)));
    rows.push(...summarise(name, first, usual));
  }
  const choices = everyFunction.map((name) => choose(name, rows));
  return {
    limitedBy: [...world.limitedBy].join(),
    invocations: instances * counts.rounds.smallest,
    choices,
    rows,
  };
}

type World = Awaited<ReturnType<typeof startWorld>>;

async function startWorld(stack: AsyncDisposableStack) {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-memory-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const authority = certificateAuthority('Bench');
  const trusted = join(folder, 'authority.pem');
  await writeFile(trusted, authority.cert);
  const tls = authority.issue({ names: ['127.0.0.1'] });
  const delays = { aws: AWS_CALL_MS, subscriber: SUBSCRIBER_MS };
  const { environment, addQueue, queues } = await startStubAws(stack, { subscribers: 10, tls, delays });
  addQueue(QUEUE, 1);
  addQueue('busy', 10);
  const fileAt = (name: FunctionName): string => join(folder, name, 'index.mjs');
  for (const name of everyFunction)
    await bundle(new URL(`../../functions/${name}/handler.ts`, import.meta.url), fileAt(name));
  buildPortalPage(join(folder, 'portal', 'page'));
  const env = { ...environment, NODE_EXTRA_CA_CERTS: trusted };
  /** `jobs`: those that dispatch sent for its loads. */
  const jobs: Record<Load, string[]> = { smallest: [], busy: [], largest: [] };
  const limitedBy = new Set<string>();
  return { queues, fileAt, env, jobs, limitedBy };
}

type Event = { load: Load; event: object };

/** In the order in which they are measured. */
function eventsFor(name: FunctionName, { jobs }: World): readonly Event[] {
  const batch = (load: Load, bodies: readonly string[]): Event => ({
    load,
    event: { Records: bodies.map((body) => anSqsRecord(body)) },
  });
  // Lambda passes at most 6 MB.
  const ofDispatch = [
    batch('busy', published(0, 10, 1_000)),
    batch('largest', published(10, 5, 1_000_000)),
    batch('largest', published(15, 5, 1_000_000)),
  ];
  const ofDeliver = [batch('busy', jobs.busy.slice(0, 10)), batch('largest', jobs.largest.slice(0, 10))];
  const further: Partial<Record<FunctionName, Event[]>> = { dispatch: ofDispatch, deliver: ofDeliver };
  return [{ load: 'smallest', event: smallestEvents(Date.now())[name] }, ...(further[name] ?? [])];
}

function published(from: number, count: number, bytes: number): string[] {
  return Array.from({ length: count }, (_, index) =>
    JSON.stringify({ queue: 'busy', id: `message-${from + index}`, data: { text: 'x'.repeat(bytes) } }),
  );
}

const invoked = z.object({
  ms: z.number(),
  cpuMs: z.number(),
  peakKilobytes: z.number(),
  answer: z.unknown(),
});

type Seen = { megabytes: number; load: Load } & Omit<z.infer<typeof invoked>, 'answer'>;

function sizesOf(name: FunctionName): number[] {
  return [...new Set([...SIZES, MEMORY_MEGABYTES[name]])];
}

/** One first invocation at each size. */
async function observeStarts(world: World, name: FunctionName, signal: AbortSignal): Promise<Seen[]> {
  const seen: Seen[] = [];
  for (const megabytes of sizesOf(name)) {
    signal.throwIfAborted();
    await using stack = new AsyncDisposableStack();
    const { limit, invoke } = await startAt(stack, world, name, megabytes);
    await limit();
    for (const event of eventsFor(name, world).slice(0, 1)) seen.push(await invoke(event));
  }
  return seen;
}

type Counts = Readonly<Record<'warmUps' | 'rounds', Readonly<Record<Load, number>>>>;

/** One instance of each size. They take turns, so that other work on the machine disturbs all of them alike. */
async function observeInstances(
  world: World,
  name: FunctionName,
  { warmUps, rounds }: Counts,
  signal: AbortSignal,
): Promise<Seen[]> {
  await using stack = new AsyncDisposableStack();
  const instances = await Promise.all(sizesOf(name).map((size) => startAt(stack, world, name, size)));
  const takeTurns = async (event: Event, times: number): Promise<Seen[]> => {
    const seen: Seen[] = [];
    for (let round = 0; round < times; round += 1)
      for (const { invoke } of instances) {
        signal.throwIfAborted();
        seen.push(await invoke(event));
        await setTimeout(PAUSE_MS);
      }
    return seen;
  };
  const events = eventsFor(name, world);
  for (const event of events) await takeTurns(event, warmUps[event.load]);
  for (const { limit } of instances) await limit();
  const all: Seen[] = [];
  for (const event of events) {
    all.push(...(await takeTurns(event, rounds[event.load])));
    if (name !== 'dispatch') continue;
    // One of each, for deliver.
    world.queues.takeJobs();
    await instances[0]?.invoke(event);
    world.jobs[event.load].push(...world.queues.takeJobs());
  }
  return all;
}

async function startAt(stack: AsyncDisposableStack, world: World, name: FunctionName, megabytes: number) {
  const { env, fileAt } = world;
  const threads = name === 'deliver' ? { UV_THREADPOOL_SIZE: '64' } : {};
  const child = fork(new URL('invocations.mjs', import.meta.url), [fileAt(name)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: heapFlags(megabytes),
    env: { ...env, ...threads, AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(megabytes) },
  });
  const ended = new Promise((resolve) => child.once('exit', resolve)).then(() => undefined);
  stack.defer(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const next = (): Promise<unknown> =>
    Promise.race([new Promise((resolve) => child.once('message', resolve)), ended]);
  await next();
  return {
    limit: async () => {
      world.limitedBy.add(await limitProcessor(child, shareOnLambda(megabytes)));
    },
    /** @throws Problem when it failed */
    invoke: async ({ load, event }: Event): Promise<Seen> => {
      child.send(event);
      const { data } = invoked.safeParse(await next());
      if (data === undefined || failedAnswer.safeParse(data.answer).success)
        throw new Problem(`${name} with ${megabytes} MB failed.`);
      const { answer: _, ...taken } = data;
      return { megabytes, load, ...taken };
    },
  };
}

function summarise(name: FunctionName, first: readonly Seen[], usual: readonly Seen[]): Row[] {
  const groups = Map.groupBy(usual, ({ megabytes, load }) => `${load} ${megabytes}`);
  return [...groups.values()].map((group) => {
    const [{ load, megabytes }] = group as [Seen];
    const starts = first.filter((start) => start.megabytes === megabytes);
    const milliseconds = group.map(({ ms }) => ms);
    const seconds = meanOf(milliseconds, (ms) => Math.ceil(ms) / 1000);
    const price = (what: 'lambdaRequests' | 'lambdaCompute', quantity: number): number =>
      computeCost(builtInPrices.regions['us-east-1'], what, MILLION * quantity);
    return {
      function: name,
      load,
      megabytes,
      firstMs: median(starts.map(({ ms }) => ms)),
      p50Ms: median(milliseconds),
      p99Ms: quantile(milliseconds, 0.99),
      cpuMs: median(group.map(({ cpuMs }) => cpuMs)),
      usd: price('lambdaRequests', 1) + price('lambdaCompute', (seconds * megabytes) / 1024),
      peakMegabytes: Math.max(...group.map(({ peakKilobytes }) => peakKilobytes)) / 1024,
    };
  });
}

function choose(name: FunctionName, all: readonly Row[]): Choice {
  const today = MEMORY_MEGABYTES[name];
  const rows = all.filter((row) => row.function === name);
  const smallest = rows.filter(({ load }) => load === 'smallest').toSorted((a, b) => a.usd - b.usd);
  const asToday = rows.filter(({ megabytes }) => megabytes === today);
  const keeps = ({ load, megabytes, p99Ms, peakMegabytes }: Row): boolean =>
    peakMegabytes <= FULL * megabytes &&
    asToday.some((row) => row.load === load && (load === 'largest' || p99Ms <= SLOWER * row.p99Ms));
  const usd = (megabytes: number): number =>
    smallest.find((row) => row.megabytes === megabytes)?.usd ?? Number.NaN;
  const fits = smallest.find(({ megabytes }) =>
    rows.every((row) => row.megabytes !== megabytes || keeps(row)),
  );
  const cheapest = fits?.megabytes ?? today;
  return { function: name, today, cheapest, usd: usd(cheapest), usdToday: usd(today) };
}

process.exitCode = await runBench({ name: 'memory', measure, keptIn: 'nowhere' }, process.argv.slice(2));
