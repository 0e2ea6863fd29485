import { type BenchMeans, type Length, runBench } from '../harness/command.ts';
import type { Ratio } from '../harness/figures.ts';
import { type Drain, faultsIn, measureStorm, type Schedules, type StormPlan } from './measure.ts';
import { LARGE_REGION } from './world.ts';

type Storms = { ratios: readonly Ratio[]; drains: readonly Drain[]; schedules: readonly Schedules[] };

const plans: readonly Omit<StormPlan, 'retries'>[] = [
  { name: 'large region', quotas: LARGE_REGION },
  { name: 'small region', quotas: { ...LARGE_REGION, createPerSecond: 250 } },
  { name: 'limited rate', quotas: LARGE_REGION, maxPerSecond: 200 },
];

const retries = { full: 20_000, short: 2_000 };

/** Virtual time is the same on every machine. */
const tolerance = 0.05;

async function measure(length: Length, { signal, say }: BenchMeans): Promise<Storms> {
  const storms: Awaited<ReturnType<typeof measureStorm>>[] = [];
  for (const plan of plans) {
    signal.throwIfAborted();
    say(`In virtual time: ${plan.name}`);
    storms.push(await measureStorm({ retries: retries[length], ...plan }));
  }
  return {
    ratios: storms.map(({ drain }) => ({
      name: `${drain.name}: time to drain by that at the configured rate`,
      ratio: drain.seconds / drain.idealSeconds,
      tolerance,
    })),
    drains: storms.map(({ drain }) => drain),
    schedules: storms.map(({ schedules }) => schedules),
  };
}

process.exitCode = await runBench(
  { name: 'storm', measure, faults: ({ drains }) => faultsIn(drains) },
  process.argv.slice(2),
);
