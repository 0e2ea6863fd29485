import { tableLines } from '../../cli/output/table.ts';
import type { BenchMeans } from '../harness/command.ts';
import type { Ratio } from '../harness/figures.ts';
import { demandMachine, machine, type Machine } from '../harness/machine.ts';
import type { Broken, Drain, Waits } from './figures.ts';
import { measureStorm, type VirtualStorm } from './one-storm.ts';
import type { StormPlan } from './play.ts';

/** In any ten seconds (docs/api.md): a slot may be used a little late. */
const TOLERATED = 1.05;

/** What no storm may do, whatever its figures. */
export const faultsIn = ({ virtual }: Pick<StormResult, 'virtual'>): string[] =>
  virtual.flatMap((storm) => [...brokenOf(storm.name, storm.broken), ...overLimit(storm)]);

const brokenOf = (name: string, { lost, early }: Broken): string[] => [
  ...(lost === 0 ? [] : [`${name}: ${lost} messages were lost.`]),
  ...(early === 0 ? [] : [`${name}: ${early} retries came before they were due.`]),
];

const overLimit = ({ name, maxPerSecond = Infinity, drain }: VirtualStorm): string[] =>
  drain.mostInTenSeconds <= TOLERATED * maxPerSecond
    ? []
    : [`${name}: ${drain.mostInTenSeconds} requests a second, where ${maxPerSecond} are allowed.`];

type StormResult = {
  name: 'storm';
  measuredAt: string;
  machine: Machine;
  ratios: readonly Ratio[];
  virtual: readonly VirtualStorm[];
};

/** For tens of thousands of records in memory. */
const MEMORY_GIGABYTES = 1;

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
  full: { retries: 20_000, others: 2_400 },
  short: { retries: 2_000, others: 600 },
} as const;

/** Virtual time is the same on every machine; what differs is what the code does with it. */
const TOLERANCE = 0.05;

/** @throws Problem when something cannot be measured */
export const measureStorms = async (
  length: 'full' | 'short',
  { signal, say }: BenchMeans,
): Promise<StormResult> => {
  demandMachine({ memoryGigabytes: MEMORY_GIGABYTES });
  const virtual: VirtualStorm[] = [];
  for (const [name, plan] of plansOf(lengths[length])) {
    signal.throwIfAborted();
    say(`In virtual time: ${name}`);
    virtual.push(await measureStorm(name, plan));
  }
  return {
    name: 'storm',
    measuredAt: new Date().toISOString(),
    machine: machine(),
    ratios: [
      ...virtual.map(({ name, drain }) => drainRatio(name, drain)),
      ...virtual.map(({ name, waits }) => waitsRatio(name, waits)),
    ],
    virtual,
  };
};

const drainRatio = (name: string, { seconds, idealSeconds }: Drain): Ratio => ({
  name: `${name}: time to drain by that at the configured rate`,
  ratio: seconds / idealSeconds,
  tolerance: TOLERANCE,
});

const waitsRatio = (name: string, { storm, calm }: Record<'storm' | 'calm', Waits>): Ratio => ({
  name: `${name}: p99 of the wait of others' first attempts, in the storm by without`,
  ratio: storm.p99 / calm.p99,
  tolerance: TOLERANCE,
});

/** The result as a person reads it. */
export const resultText = ({ virtual }: StormResult): string =>
  [
    'Retries that are due at once, in seconds from when the first of them is',
    ...tableLines(
      [
        { head: '' },
        { head: 'retries', align: 'right' },
        { head: 'due within', align: 'right' },
        { head: 'rate/s', align: 'right' },
        { head: 'drained', align: 'right' },
        { head: 'at that rate', align: 'right' },
        { head: 'most/s in 1 s', align: 'right' },
        { head: 'in 10 s', align: 'right' },
        { head: 'lost', align: 'right' },
        { head: 'early', align: 'right' },
      ],
      virtual.map(({ name, drain, broken }) => [
        name,
        ...drainCells(drain),
        String(broken.lost),
        String(broken.early),
      ]),
    ),
    '',
    'Schedules; most within a second',
    ...tableLines(
      [
        { head: '' },
        { head: 'asked for', align: 'right' },
        { head: 'most', align: 'right' },
        { head: 'throttled', align: 'right' },
        { head: 'made', align: 'right' },
        { head: 'most', align: 'right' },
        { head: 'fired, most', align: 'right' },
        { head: 'sent by SQS', align: 'right' },
        { head: 'reconciled', align: 'right' },
      ],
      virtual.map(({ name, schedules, hops, reconciled }) => [
        name,
        String(schedules.asked),
        String(schedules.mostAsked),
        String(schedules.throttled),
        String(schedules.made),
        String(schedules.mostMade),
        String(schedules.mostInvoked),
        String(hops),
        String(reconciled),
      ]),
    ),
    '',
    "First attempts of others, in milliseconds from a message's being sent",
    ...tableLines(
      [
        { head: '' },
        { head: 'in the storm', align: 'right' },
        { head: 'p50', align: 'right' },
        { head: 'p99', align: 'right' },
        { head: 'without', align: 'right' },
        { head: 'p50', align: 'right' },
        { head: 'p99', align: 'right' },
      ],
      virtual.map(({ name, waits }) => [name, ...waitCells(waits.storm), ...waitCells(waits.calm)]),
    ),
  ].join('\n');

const drainCells = (drain: Drain): string[] => [
  String(drain.retries),
  drain.dueWithin.toFixed(1),
  drain.perSecond.toFixed(0),
  drain.seconds.toFixed(1),
  drain.idealSeconds.toFixed(1),
  String(drain.mostInOneSecond),
  drain.mostInTenSeconds.toFixed(0),
];

const waitCells = ({ messages, p50, p99 }: Waits): string[] => [
  String(messages),
  p50.toFixed(0),
  p99.toFixed(0),
];
