import { type BenchMeans, runBench, type Table } from '../harness/command.ts';
import type { Ratio } from '../harness/figures.ts';
import { faultsIn, measureStorm, type VirtualStorm } from './measure.ts';
import type { StormPlan } from './play.ts';

type Storms = { ratios: readonly Ratio[]; virtual: readonly VirtualStorm[] };

/**
 * Amazon EventBridge Scheduler quotas (https://docs.aws.amazon.com/scheduler/latest/UserGuide/scheduler-quotas.html): requests
 * of CreateSchedule a second, in the regions that have most and in those that have least, and invocations of targets.
 */
const LARGE_REGION = { createPerSecond: 5_000, invokePerSecond: 1_000 };
const SMALL_REGION = { createPerSecond: 250, invokePerSecond: 1_000 };

const plans: readonly (readonly [name: string, plan: Omit<StormPlan, 'retries'>])[] = [
  ['large region', { quotas: LARGE_REGION }],
  ['small region', { quotas: SMALL_REGION }],
  ['limited rate', { quotas: LARGE_REGION, maxPerSecond: 200 }],
];

const retries = { full: 20_000, short: 2_000 };

/** Virtual time is the same on every machine; what differs is what the code does with it. */
const tolerance = 0.05;

async function measureStorms(length: 'full' | 'short', { signal, say }: BenchMeans): Promise<Storms> {
  const virtual: VirtualStorm[] = [];
  for (const [name, plan] of plans) {
    signal.throwIfAborted();
    say(`In virtual time: ${name}`);
    virtual.push(await measureStorm(name, { retries: retries[length], ...plan }));
  }
  const ratios = virtual.map(({ name, drain: { seconds, idealSeconds } }) => ({
    name: `${name}: time to drain by that at the configured rate`,
    ratio: seconds / idealSeconds,
    tolerance,
  }));
  return { ratios, virtual };
}

function tablesOf({ virtual }: Storms): Table[] {
  return [
    {
      title: 'Retries that are due at once, in seconds from when the first of them is',
      rows: virtual.map(({ name, drain, broken }) => ({
        '': name,
        retries: drain.retries,
        'due within': drain.dueWithin,
        'rate/s': drain.perSecond,
        drained: drain.seconds,
        'at that rate': drain.idealSeconds,
        'most/s in 1 s': drain.mostInOneSecond,
        'in 10 s': drain.mostInTenSeconds,
        ...broken,
      })),
    },
    {
      title: 'Schedules; most within a second',
      rows: virtual.map(({ name, schedules, hops, reconciled }) => ({
        '': name,
        'asked for': schedules.asked,
        'most asked for': schedules.mostAsked,
        made: schedules.made,
        'most made': schedules.mostMade,
        'most fired': schedules.mostInvoked,
        'sent by SQS': hops,
        reconciled,
      })),
    },
  ];
}

process.exitCode = await runBench(
  { name: 'storm', measure: measureStorms, tables: tablesOf, faults: faultsIn },
  process.argv.slice(2),
);
