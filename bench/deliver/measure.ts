import { demandMachine, machine, type Machine } from '../machine.ts';
import type { BenchMeans } from '../measured/command.ts';
import type { Ratio } from '../measured/ratios.ts';
import { DATA_BYTES } from '../measured/messages.ts';
import { FAN_OUT, startPrograms } from './programs.ts';
import { endure, type Endurance } from './endurance.ts';
import { compare, type Comparison, type ComparisonLength } from './compare.ts';

export type DeliverResult = {
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
  full: { fanOuts: [1, FAN_OUT], rounds: 10, deliveries: 1_000, endurance: 100_000 },
  short: { fanOuts: [1], rounds: 2, deliveries: 100, endurance: 400 },
};

/** By how much two runs of the same code differ on a shared machine. */
const TOLERANCE = 0.15;

/** @throws Problem when something cannot be measured */
export const measureDeliver = async (
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
