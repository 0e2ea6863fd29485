import { type Column, tableLines } from '../../cli/output/table.ts';
import { type BenchMeans, runBench } from '../harness/command.ts';
import type { Ratio, Spread } from '../harness/figures.ts';
import { demandMachine, machine, type Machine } from '../harness/machine.ts';
import { DATA_BYTES } from '../harness/messages.ts';
import { compare, type Comparison, type ComparisonLength, type Cost } from './compare.ts';
import { type Endurance, endure } from './endurance.ts';
import { FAN_OUT, startPrograms, WIDE } from './programs.ts';

type DeliverResult = {
  name: 'deliver';
  measuredAt: string;
  machine: Machine;
  dataBytes: number;
  /** What is compared from one commit to another. */
  ratios: readonly Ratio[];
  fanOuts: readonly Comparison[];
  endurance: Endurance;
};

type Length = ComparisonLength & { fanOuts: readonly number[]; endurance: number };

const lengths: Record<'full' | 'short', Length> = {
  full: { fanOuts: [1, FAN_OUT, WIDE], rounds: 10, deliveries: 1_000, endurance: 100_000 },
  short: { fanOuts: [1], rounds: 2, deliveries: 100, endurance: 400 },
};

/** By how much two runs of the same code differ on a shared machine. */
const TOLERANCE = 0.15;

/** @throws Problem when something cannot be measured */
const measureDeliver = async (
  length: 'full' | 'short',
  { stack, signal, say }: BenchMeans,
): Promise<DeliverResult> => {
  demandMachine();
  const programs = await startPrograms(stack);
  const fanOuts: Comparison[] = [];
  for (const fanOut of lengths[length].fanOuts) {
    say(`Comparing at fan-out ${fanOut}`);
    fanOuts.push(await compare(programs, fanOut, lengths[length], signal));
  }
  say(`Delivering ${lengths[length].endurance}`);
  const endurance = await endure(programs, lengths[length].endurance, signal);
  return {
    name: 'deliver',
    measuredAt: new Date().toISOString(),
    machine: machine(),
    dataBytes: DATA_BYTES,
    ratios: ratiosOf(fanOuts, endurance),
    fanOuts,
    endurance,
  };
};

const ratiosOf = (fanOuts: readonly Comparison[], endurance: Endurance): Ratio[] => [
  ...fanOuts.map(({ fanOut, ratio }) => ({
    name: `processor time of deliver by a bare program's, fan-out ${fanOut}`,
    ratio: ratio.median,
    tolerance: TOLERANCE,
  })),
  {
    name: 'processor time of the last fifth of many deliveries by the first',
    ratio: endurance.growth,
    tolerance: TOLERANCE,
  },
];

const spread = ({ median, least, most }: Spread): string =>
  `${median.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`;

const callsOf = ({ calls }: Cost): string =>
  Object.entries(calls)
    .filter(([, count]) => count >= 0.01)
    .map(([name, count]) => `${count.toFixed(2)} ${name}`)
    .join(', ');

const columns: readonly Column[] = [
  { head: 'program' },
  { head: 's of processor per 1,000', align: 'right' },
  { head: 'KB allocated each', align: 'right' },
  { head: 'MB at most', align: 'right' },
  { head: 'calls each' },
];

const row = (program: string, cost: Cost): string[] => [
  program,
  spread(cost.cpuSeconds),
  cost.allocatedKilobytes.toFixed(0),
  cost.peakMegabytes.toFixed(0),
  callsOf(cost),
];

const comparisonText = (comparison: Comparison): string =>
  [
    `Fan-out ${comparison.fanOut}: ${comparison.rounds} rounds of ${comparison.deliveriesInRound} deliveries, the median (the least to the most)`,
    ...tableLines(columns, [
      row('dispatch', comparison.dispatch),
      row('deliver', comparison.deliver),
      row('bare: the same calls and POST', comparison.bare),
      row('bare: the POST alone', comparison.post),
    ]),
    `deliver by bare ${spread(comparison.ratio)}; dispatch and deliver ${comparison.bothCpuSeconds.toFixed(2)} s per 1,000; log ${comparison.logBytes.toFixed(0)} bytes each`,
  ].join('\n');

/** The result as a person reads it. */
const resultText = ({ fanOuts, endurance }: DeliverResult): string =>
  [
    ...fanOuts.map(comparisonText),
    [
      `${endurance.deliveries} deliveries, the first fifth and the last:`,
      `s of processor per 1,000: ${endurance.firstCpuSeconds.toFixed(2)}, ${endurance.lastCpuSeconds.toFixed(2)} (bare beside it ${endurance.firstBareCpuSeconds.toFixed(2)}, ${endurance.lastBareCpuSeconds.toFixed(2)})`,
      `heap in MB: ${endurance.firstHeapMegabytes.toFixed(1)}, ${endurance.lastHeapMegabytes.toFixed(1)}, in the second half ${endurance.heapBytesPerDelivery.toFixed(1)} bytes more each`,
      `resident in MB: ${endurance.firstResidentMegabytes.toFixed(0)}, ${endurance.lastResidentMegabytes.toFixed(0)}`,
    ].join('\n'),
  ].join('\n\n');

process.exitCode = await runBench(
  { name: 'deliver', measure: measureDeliver, text: resultText },
  process.argv.slice(2),
);
