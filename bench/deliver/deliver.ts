import { Problem } from '../../local/install/problem.mjs';
import { parseWork } from '../../shared/wire/jobs/delivery-job.ts';
import { type BenchMeans, runBench } from '../harness/command.ts';
import { median, type Ratio, spreadOf, type Spread, sumOf } from '../harness/figures.ts';
import type { Counts } from '../harness/stub-aws.ts';
import type { Run } from './function.ts';
import {
  type Contestant,
  contestants,
  DATA_BYTES,
  FAN_OUT,
  ingressMessages,
  type Programs,
  startPrograms,
  WIDE,
} from './programs.ts';

type Figures = {
  dataBytes: number;
  rounds: number;
  deliveriesInRound: number;
  /** What is compared from one commit to another. */
  ratios: readonly Ratio[];
  programs: readonly Cost[];
};

/** Each by a delivery, one message to one subscriber; over all rounds. */
type Cost = {
  fanOut: number;
  program: Contestant;
  /** Seconds of processor time for 1,000. */
  cpuSeconds: Spread;
  allocatedKilobytes: number;
  /** Of V8's heap after a collection: a function that keeps something of each delivery has more in the end. */
  heapMegabytes: { first: number; last: number };
  /** The most memory that the process had since it began. */
  peakMegabytes: number;
  /** Requests to AWS and to subscribers. */
  calls: Counts;
};

const lengths = {
  full: { fanOuts: [1, FAN_OUT, WIDE], rounds: 20, deliveries: 1_000 },
  short: { fanOuts: [1], rounds: 5, deliveries: 100 },
} as const;

/** By how much two runs of the same code differ on a shared machine. */
const tolerance = 0.15;

async function measureDeliver(
  length: 'full' | 'short',
  { stack, signal, say }: BenchMeans,
): Promise<Figures> {
  const { fanOuts, rounds: wanted, deliveries } = lengths[length];
  const programs = await startPrograms(stack);
  const ratios: Ratio[] = [];
  const costs: Cost[] = [];
  for (const fanOut of fanOuts) {
    say(`Comparing at fan-out ${fanOut}`);
    const rounds = await roundsOf(programs, { fanOut, deliveries, wanted }, signal);
    const ours = rounds.map(({ deliver, bare }) => deliver.cpuMs / bare.cpuMs);
    const name = `processor time of deliver by a bare program's, fan-out ${fanOut}`;
    ratios.push({ name, ratio: median(ours), tolerance });
    if (fanOut === 1) ratios.push(growthOf(ours));
    for (const program of contestants) {
      const runs = rounds.map((round) => round[program]);
      costs.push({ fanOut, program, ...costOf(runs, deliveries) });
    }
  }
  return { dataBytes: DATA_BYTES, rounds: wanted, deliveriesInRound: deliveries, ratios, programs: costs };
}

/** Whether a function that lives long costs more and more, beside the bare program. */
function growthOf(ours: readonly number[]): Ratio {
  const fifth = Math.ceil(ours.length / 5);
  return {
    name: 'processor time of the last fifth of many deliveries by the first',
    ratio: median(ours.slice(-fifth)) / median(ours.slice(0, fifth)),
    tolerance,
  };
}

type Counted = Run & { calls: Counts };
type Round = Record<Contestant, Counted>;

/** Until the compiler has seen programs often enough, they take some times longer. */
const WARM_UP = 2;

/** One after the other in each round, so that what else the machine does meets all of them alike. */
async function roundsOf(
  programs: Programs,
  { fanOut, deliveries, wanted }: { fanOut: number; deliveries: number; wanted: number },
  signal: AbortSignal,
): Promise<readonly Round[]> {
  programs.stub.addQueue(`fan-out-${fanOut}`, fanOut);
  const rounds: Round[] = [];
  while (rounds.length < WARM_UP + wanted) {
    signal.throwIfAborted();
    rounds.push(await round(programs, fanOut, deliveries));
  }
  return rounds.slice(WARM_UP);
}

async function round(programs: Programs, fanOut: number, deliveries: number): Promise<Round> {
  const { stub } = programs;
  const counted = async (program: Contestant, bodies: readonly string[]): Promise<Counted> => {
    stub.takeCounts();
    return { ...(await programs[program](bodies)), calls: stub.takeCounts() };
  };
  const dispatch = await counted('dispatch', ingressMessages(`fan-out-${fanOut}`, deliveries / fanOut));
  const jobs = stub.takeJobs();
  const ordered = sumOf(jobs, deliveriesIn);
  if (ordered !== deliveries)
    throw new Problem(`dispatch ordered ${ordered} deliveries where there are ${deliveries}.`);
  return {
    dispatch,
    deliver: await counted('deliver', jobs),
    bare: await counted('bare', jobs),
    post: await counted('post', jobs),
  };
}

/** @throws TypeError for what is no job */
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
    peakMegabytes: Math.max(...runs.map(({ peakResidentBytes }) => peakResidentBytes)) / 2 ** 20,
    calls,
  };
}

process.exitCode = await runBench({ name: 'deliver', measure: measureDeliver }, process.argv.slice(2));
