import { demandMachine, machine, type Machine } from '../machine.ts';
import type { BenchMeans } from '../measured/command.ts';
import type { Ratio } from '../measured/ratios.ts';
import { measureDeployedStorm, type DeployedStorm } from './deployed/measure-storm.ts';
import { startStormySystem } from './deployed/stormy-system.ts';
import type { Drain, Waits } from './figures.ts';
import { measureStorm, type VirtualStorm } from './virtual/measure-storm.ts';
import type { StormPlan } from './virtual/play-storm.ts';

export type StormResult = {
  name: 'storm';
  measuredAt: string;
  machine: Machine;
  ratios: readonly Ratio[];
  virtual: readonly VirtualStorm[];
  deployed: DeployedStorm;
};

/** The local AWS with some twenty functions' processes, and tens of thousands of records in memory. */
const MEMORY_GIGABYTES = 3;

/**
 * Amazon EventBridge Scheduler quotas: requests of CreateSchedule a second, in the regions that have most and in those that have least,
 * and invocations of targets.
 */
const LARGE_REGION = { createPerSecond: 5_000, invokePerSecond: 1_000 };
const SMALL_REGION = { createPerSecond: 250, invokePerSecond: 1_000 };

const plansOf = (sizes: Pick<StormPlan, 'retries' | 'others'>): [name: string, plan: StormPlan][] => [
  ['large region', { ...sizes, quotas: LARGE_REGION }],
  ['small region', { ...sizes, quotas: SMALL_REGION }],
  ['limited rate', { ...sizes, quotas: LARGE_REGION, maxPerSecond: 200 }],
];

const lengths = {
  full: {
    virtual: { retries: 20_000, others: 2_400 },
    deployed: { retries: 2_000, othersBefore: 120, awaySeconds: 90 },
  },
  short: {
    virtual: { retries: 2_000, others: 600 },
    deployed: { retries: 200, othersBefore: 40, awaySeconds: 45 },
  },
} as const;

/** Virtual time is the same on every machine; what differs is what the code does with it. */
const VIRTUAL_TOLERANCE = 0.05;

/** The local AWS is one process, which the retries and the first attempts of others share with whatever else the machine does. */
const DEPLOYED_TOLERANCE = { drain: 0.5, others: 4 };

/** @throws Problem when something cannot be measured */
export const measureStorms = async (
  length: 'full' | 'short',
  { stack, signal, say }: BenchMeans,
): Promise<StormResult> => {
  demandMachine({ memoryGigabytes: MEMORY_GIGABYTES });
  const sizes = lengths[length];
  const system = await startStormySystem(stack, signal);
  const deployed = await measureDeployedStorm(system, sizes.deployed, say);
  const virtual: VirtualStorm[] = [];
  for (const [name, plan] of plansOf(sizes.virtual)) {
    signal.throwIfAborted();
    say(`In virtual time: ${name}`);
    virtual.push(await measureStorm(name, plan));
  }
  return {
    name: 'storm',
    measuredAt: new Date().toISOString(),
    machine: machine(),
    ratios: [
      ...virtual.map(({ name, drain }) => drainRatio(name, drain, VIRTUAL_TOLERANCE)),
      ...virtual.map(({ name, waits }) => waitsRatio(name, waits, VIRTUAL_TOLERANCE)),
      drainRatio('local AWS', deployed.drain, DEPLOYED_TOLERANCE.drain),
      {
        name: "local AWS: p99 of the wait of others' first attempts in the storm by the time to drain",
        ratio: deployed.waits.storm.p99 / 1000 / deployed.drain.seconds,
        tolerance: DEPLOYED_TOLERANCE.others,
      },
    ],
    virtual,
    deployed,
  };
};

const drainRatio = (name: string, { seconds, idealSeconds }: Drain, tolerance: number): Ratio => ({
  name: `${name}: time to drain by that at the configured rate`,
  ratio: seconds / idealSeconds,
  tolerance,
});

const waitsRatio = (
  name: string,
  { storm, calm }: Record<'storm' | 'calm', Waits>,
  tolerance: number,
): Ratio => ({
  name: `${name}: p99 of the wait of others' first attempts, in the storm by without`,
  ratio: storm.p99 / calm.p99,
  tolerance,
});
