import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { demandMachine, machine, type Machine } from '../machine.ts';
import type { BenchMeans } from '../measured/command.ts';
import { startFunction, type MeasuredFunction } from '../measured/measured-function.ts';
import { DATA_BYTES, ingressMessages } from '../measured/messages.ts';
import { startStubs, type Stubs } from '../measured/stubs.ts';
import { endure, type Endurance } from './endurance.ts';
import { compare, type Comparison } from './compare.ts';

export type DeliverResult = {
  name: 'deliver';
  measuredAt: string;
  machine: Machine;
  dataBytes: number;
  /** Processor time of a delivery by the bare program's, at fan-out 1. */
  ratio: number;
  /** How much worse than it was a ratio may be measured; two runs differ by half of that on a shared machine. */
  tolerance: number;
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
    ratio: fanOuts[0]?.ratio.median ?? Number.NaN,
    tolerance: TOLERANCE,
    fanOuts,
    endurance,
  };
};

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
