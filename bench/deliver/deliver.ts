import { randomUUID } from 'node:crypto';
import { type BenchMeans, runBench, type Table } from '../harness/command.ts';
import { median, type Ratio, type Spread } from '../harness/figures.ts';
import {
  compare,
  DATA_BYTES,
  FAN_OUT,
  ingressMessages,
  startPrograms,
  WIDE,
  type Comparison,
  type Programs,
} from './compare.ts';
import type { Run } from './function.ts';

type Figures = {
  dataBytes: number;
  /** What is compared from one commit to another. */
  ratios: readonly Ratio[];
  fanOuts: readonly Comparison[];
  endurance: Endurance;
};

/** Whether a function that lives long costs more and more. Seconds of processor time are for 1,000 deliveries. */
type Endurance = {
  deliveries: number;
  /** Of the last fifth by the first, each by the bare program's beside it. */
  growth: number;
  firstCpuSeconds: number;
  lastCpuSeconds: number;
  /** The bare program's, measured beside them: what else the machine did then. */
  firstBareCpuSeconds: number;
  lastBareCpuSeconds: number;
  /** Of V8's heap after a collection. */
  firstHeapMegabytes: number;
  lastHeapMegabytes: number;
};

const lengths = {
  full: { fanOuts: [1, FAN_OUT, WIDE], rounds: 10, deliveries: 1_000, endurance: 100_000 },
  short: { fanOuts: [1], rounds: 2, deliveries: 100, endurance: 400 },
} as const;

/** By how much two runs of the same code differ on a shared machine. */
const tolerance = 0.15;

async function measureDeliver(
  length: 'full' | 'short',
  { stack, signal, say }: BenchMeans,
): Promise<Figures> {
  const programs = await startPrograms(stack);
  const fanOuts: Comparison[] = [];
  for (const fanOut of lengths[length].fanOuts) {
    say(`Comparing at fan-out ${fanOut}`);
    fanOuts.push(await compare(programs, fanOut, lengths[length], signal));
  }
  say(`Delivering ${lengths[length].endurance}`);
  const endurance = await endure(programs, lengths[length].endurance, signal);
  const ratios = fanOuts.map(({ fanOut, ratio }) => ({
    name: `processor time of deliver by a bare program's, fan-out ${fanOut}`,
    ratio: ratio.median,
    tolerance,
  }));
  const growth = {
    name: 'processor time of the last fifth of many deliveries by the first',
    ratio: endurance.growth,
    tolerance,
  };
  return { dataBytes: DATA_BYTES, ratios: [...ratios, growth], fanOuts, endurance };
}

const PARTS = 20;

/** Deliveries of the bare program after each part. */
const BESIDE = 200;

/** Parts whose figures are taken together as the first, and as the last. */
const ENDS = 4;

async function endure(
  { stub, dispatch, deliver, bare }: Programs,
  deliveries: number,
  signal: AbortSignal,
): Promise<Endurance> {
  stub.addQueue('endurance', 1);
  await dispatch(ingressMessages('endurance', 1));
  const [job = ''] = stub.takeJobs();
  const part = deliveries / PARTS;
  const parts: { ours: Run; other: Run }[] = [];
  for (let number = 0; number < PARTS; number += 1) {
    signal.throwIfAborted();
    const ours = await deliver(copiesOf(job, part));
    parts.push({ ours, other: await bare(copiesOf(job, BESIDE)) });
  }
  const ends = (value: (one: (typeof parts)[number]) => number): [first: number, last: number] => [
    median(parts.slice(0, ENDS).map(value)),
    median(parts.slice(-ENDS).map(value)),
  ];
  const [firstCpuSeconds, lastCpuSeconds] = ends(({ ours }) => ours.cpuMs / part);
  const [firstBareCpuSeconds, lastBareCpuSeconds] = ends(({ other }) => other.cpuMs / BESIDE);
  const [firstHeapMegabytes, lastHeapMegabytes] = ends(({ ours }) => ours.heapBytes / 1e6);
  return {
    deliveries,
    growth: lastCpuSeconds / lastBareCpuSeconds / (firstCpuSeconds / firstBareCpuSeconds),
    firstCpuSeconds,
    lastCpuSeconds,
    firstBareCpuSeconds,
    lastBareCpuSeconds,
    firstHeapMegabytes,
    lastHeapMegabytes,
  };
}

/** Jobs of other messages, otherwise alike. */
function copiesOf(job: string, count: number): string[] {
  const [, messageId = ''] = /"messageId":"([^"]+)"/.exec(job) ?? [];
  return Array.from({ length: count }, () => job.replaceAll(messageId, randomUUID()));
}

const contestants = [
  ['dispatch', 'dispatch'],
  ['deliver', 'deliver'],
  ['bare', 'bare: the same calls and POST'],
  ['post', 'bare: the POST alone'],
] as const;

function tablesOf({ fanOuts, endurance }: Figures): Table[] {
  const comparisons = fanOuts.map((comparison) => ({
    title: `Fan-out ${comparison.fanOut}: ${comparison.rounds} rounds of ${comparison.deliveriesInRound} deliveries, the median (the least to the most); deliver by bare ${spread(comparison.ratio)}`,
    rows: contestants.map(([contestant, name]) => {
      const { cpuSeconds, allocatedKilobytes, peakMegabytes, calls } = comparison[contestant];
      const made = Object.entries(calls).filter(([, count]) => count >= 0.01);
      return {
        program: name,
        's of processor per 1,000': spread(cpuSeconds),
        'KB allocated each': allocatedKilobytes,
        'MB at most': peakMegabytes,
        'calls each': made.map(([operation, count]) => `${count.toFixed(2)} ${operation}`).join(', '),
      };
    }),
  }));
  const many = {
    title: `${endurance.deliveries} deliveries`,
    rows: [
      {
        fifth: 'first',
        's of processor per 1,000': endurance.firstCpuSeconds,
        'bare beside it': endurance.firstBareCpuSeconds,
        'MB of heap': endurance.firstHeapMegabytes,
      },
      {
        fifth: 'last',
        's of processor per 1,000': endurance.lastCpuSeconds,
        'bare beside it': endurance.lastBareCpuSeconds,
        'MB of heap': endurance.lastHeapMegabytes,
      },
    ],
  };
  return [...comparisons, many];
}

function spread({ median, least, most }: Spread): string {
  return `${median.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`;
}

process.exitCode = await runBench(
  { name: 'deliver', measure: measureDeliver, tables: tablesOf },
  process.argv.slice(2),
);
