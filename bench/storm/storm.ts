import { type BenchMeans, runBench } from '../harness/command.ts';
import type { Ratio } from '../harness/figures.ts';
import { faultsIn, measureStorm, type Storm, type StormPlan } from './measure.ts';

type Storms = {
  ratios: readonly Ratio[];
  drains: readonly Storm['drain'][];
  schedules: readonly Storm['schedules'][];
};

/**
 * Amazon EventBridge Scheduler quotas (https://docs.aws.amazon.com/scheduler/latest/UserGuide/scheduler-quotas.html): requests
 * of CreateSchedule a second, in the regions that have most and in those that have least, and invocations of targets.
 */
const LARGE_REGION = { createPerSecond: 5_000, invokePerSecond: 1_000 };
const SMALL_REGION = { createPerSecond: 250, invokePerSecond: 1_000 };

const plans: readonly Omit<StormPlan, 'retries'>[] = [
  { name: 'large region', quotas: LARGE_REGION },
  { name: 'small region', quotas: SMALL_REGION },
  { name: 'limited rate', quotas: LARGE_REGION, maxPerSecond: 200 },
];

const retries = { full: 20_000, short: 2_000 };

/** Virtual time is the same on every machine; what differs is what the code does with it. */
const tolerance = 0.05;

async function measureStorms(length: 'full' | 'short', { signal, say }: BenchMeans): Promise<Storms> {
  const storms: Storm[] = [];
  for (const plan of plans) {
    signal.throwIfAborted();
    say(`In virtual time: ${plan.name}`);
    storms.push(await measureStorm({ retries: retries[length], ...plan }));
  }
  const drains = storms.map(({ drain }) => drain);
  return {
    ratios: drains.map(({ name, seconds, idealSeconds }) => ({
      name: `${name}: time to drain by that at the configured rate`,
      ratio: seconds / idealSeconds,
      tolerance,
    })),
    drains,
    schedules: storms.map(({ schedules }) => schedules),
  };
}

process.exitCode = await runBench(
  { name: 'storm', measure: measureStorms, faults: ({ drains }) => faultsIn(drains) },
  process.argv.slice(2),
);
