import { writeFile } from 'node:fs/promises';
import { type Bench, type BenchMeans, type Length, runBench } from '../harness/command.ts';
import type { Ratio } from '../harness/figures.ts';
import {
  type DeployedOutage,
  faultsOfOutage,
  measureDeployedOutage,
  type DeployedThrottled,
  measureDeployedThrottled,
  missedGoals,
} from './deployed.ts';
import { type Cell, faultsIn, INSTANCES, measureRow, ROWS } from './rows.ts';
import { pageOf } from './table.ts';

const args = process.argv.slice(2);

type Figures = { ratios: readonly Ratio[]; cells: readonly Cell[] };

/** Share of the messages. */
const scale = { full: 1, short: 0.1 };

const PAGE = new URL('../../docs/back-pressure.md', import.meta.url);

/** A full measurement that is kept also writes the page of the docs. */
async function measure(length: Length, { signal, say }: BenchMeans): Promise<Figures> {
  const cells: Cell[] = [];
  for (const row of ROWS) {
    signal.throwIfAborted();
    say(`In virtual time: ${row.name}`);
    cells.push(...(await measureRow(row, scale[length])));
  }
  const isKept = length === 'full' && !args.includes('--dry');
  if (isKept) await writeFile(PAGE, pageOf(ROWS, cells, INSTANCES));
  return { ratios: [], cells };
}

const virtual: Bench<Figures> = {
  name: 'back-pressure',
  measure,
  faults: ({ cells }) => faultsIn(cells),
};

/** With `--deployed`: a receiver that throttles, on the local AWS. */
const deployedThrottled: Bench<DeployedThrottled> = {
  name: 'back-pressure',
  measure: measureDeployedThrottled,
  faults: missedGoals,
  keptIn: 'nowhere',
};

/** With `--deployed --outage`: an outage of ten minutes, on the local AWS. */
const deployedOutage: Bench<DeployedOutage> = {
  name: 'back-pressure',
  measure: measureDeployedOutage,
  faults: faultsOfOutage,
  keptIn: 'nowhere',
};

const others = args.filter((arg) => arg !== '--deployed' && arg !== '--outage');
if (!args.includes('--deployed')) process.exitCode = await runBench(virtual, args);
else if (args.includes('--outage')) process.exitCode = await runBench(deployedOutage, others);
else process.exitCode = await runBench(deployedThrottled, others);
