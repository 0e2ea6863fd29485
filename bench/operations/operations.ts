import { type Bench, runBench } from '../harness/command.ts';
import { type Compared, compare } from './compare.ts';
import { loads } from './loads.ts';
import { runLoad, startSystem } from './run.ts';

/** The quantities of `posthaste plan` (cli/commands/plan/quantities.ts) beside those that the functions take. With --short the mixed load alone. */
const operations: Bench<{ loads: Readonly<Record<string, readonly Compared[]>>; faults: readonly string[] }> =
  {
    name: 'operations',
    measure: async (length, { stack, signal, say }) => {
      const system = await startSystem(stack, signal);
      const compared: Record<string, readonly Compared[]> = {};
      for (const load of loads.filter(({ name }) => length === 'full' || name === 'mixed')) {
        say(`Counting ${load.name}`);
        compared[load.name] = compare(load, await runLoad(system, load), system.endpoints);
      }
      const faults = Object.entries(compared).flatMap(([name, lines]) =>
        lines.filter(({ isFault }) => isFault).map(({ what, off }) => `${name}: ${what} is ${off} off.`),
      );
      return { loads: compared, faults };
    },
    faults: ({ faults }) => faults,
    keptIn: 'nowhere',
  };

process.exitCode = await runBench(operations, process.argv.slice(2));
