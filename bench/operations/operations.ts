import { type Bench, runBench } from '../harness/command.ts';
import { type Compared, compare } from './compare.ts';
import { loads } from './loads.ts';
import { runLoad, startSystem } from './run.ts';

/**
 * The quantities of `posthaste plan` (cli/commands/plan/quantities.ts) beside those that the functions take. With --short
 * those of the mixed load alone.
 */
const operations: Bench<{ lines: readonly Compared[] }> = {
  name: 'operations',
  measure: async (length, { stack, signal, say }) => {
    const system = await startSystem(stack, signal);
    const lines: Compared[] = [];
    for (const load of loads.filter(({ name }) => length === 'full' || name === 'mixed')) {
      say(`Counting ${load.name}`);
      lines.push(...compare(load, await runLoad(system, load), system.endpoints));
    }
    return { lines };
  },
  faults: ({ lines }) =>
    lines
      .filter(({ isFault }) => isFault)
      .map(({ load, what, off }) => `${load}: ${what}: the plan is ${off} off.`),
  keptIn: 'nowhere',
};

process.exitCode = await runBench(operations, process.argv.slice(2));
