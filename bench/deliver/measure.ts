import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { demandMachine, machine, type Machine } from '../machine.ts';
import type { BenchMeans } from '../measured/command.ts';
import { startFunction, type MeasuredFunction } from '../measured/measured-function.ts';
import type { Ratio } from '../measured/ratios.ts';
import { DATA_BYTES, ingressMessages } from '../measured/messages.ts';
import { startStubs, type Stubs } from '../measured/stubs.ts';
import { endure, type Endurance } from './endurance.ts';
import { compare, type Comparison } from './compare.ts';

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

/** The function, the one before it, and what it is held against. */
export type Programs = {
  stubs: Stubs;
  dispatch: MeasuredFunction;
  deliver: MeasuredFunction;
  /** The same calls and the same request. */
  bare: MeasuredFunction;
  /** The same request alone. */
  post: MeasuredFunction;
};

export type Length = { fanOuts: readonly number[]; rounds: number; deliveries: number; endurance: number };

const lengths: Record<'full' | 'short', Length> = {
  full: { fanOuts: [1, 10], rounds: 10, deliveries: 1_000, endurance: 100_000 },
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
  const programs = await start(stack);
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

const start = async (stack: AsyncDisposableStack): Promise<Programs> => {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const stubs = await startStubs(stack);
  const started = (name: string, entry: string, env = {}) =>
    startFunction(stack, {
      name,
      entry: new URL(entry, import.meta.url),
      endpoint: stubs.endpoint,
      folder,
      env,
    });
  const dispatch = await started('dispatch', '../../functions/dispatch/handler.ts');
  const deliver = await started('deliver', '../../functions/deliver/handler.ts');
  await stubs.addQueue('template', 1);
  await dispatch.run(ingressMessages('template', 1));
  await deliver.run(await stubs.takeJobs());
  const file = join(folder, 'template.json');
  await writeFile(file, JSON.stringify(await stubs.template()));
  const bare = await started('bare-calls', 'bare-calls.ts', { BENCH_TEMPLATE: file });
  const post = await started('bare-post', 'bare-post.ts', { BENCH_TEMPLATE: file });
  return { stubs, dispatch, deliver, bare, post };
};
