import type { StormResult } from './measure.ts';
import type { Broken } from './figures.ts';
import type { VirtualStorm } from './virtual/measure-storm.ts';

/** In any ten seconds (docs/api.md): a slot may be used a little late. */
const TOLERATED = 1.05;

/** What no storm may do, whatever its figures. */
export const faultsIn = ({ virtual, deployed }: Pick<StormResult, 'virtual' | 'deployed'>): string[] => [
  ...virtual.flatMap((storm) => [...brokenOf(storm.name, storm.broken), ...overLimit(storm)]),
  ...brokenOf('local AWS', deployed.broken),
];

const brokenOf = (name: string, { lost, early }: Broken): string[] => [
  ...(lost === 0 ? [] : [`${name}: ${lost} messages were lost.`]),
  ...(early === 0 ? [] : [`${name}: ${early} retries came before they were due.`]),
];

const overLimit = ({ name, maxPerSecond = Infinity, drain }: VirtualStorm): string[] =>
  drain.mostInTenSeconds <= TOLERATED * maxPerSecond
    ? []
    : [`${name}: ${drain.mostInTenSeconds} requests a second, where ${maxPerSecond} are allowed.`];
