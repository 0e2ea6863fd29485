import { writeFile } from 'node:fs/promises';
import { type Bench, type BenchMeans, type Length, runBench } from '../harness/command.ts';
import type { Ratio } from '../harness/figures.ts';
import {
  faultsIn,
  measureOutage,
  measureThrottled,
  type Outage,
  ratiosOf,
  type Throttled,
} from './measure.ts';
import { type DeployedOutage, faultsOfOutage, measureDeployedOutage } from './deployed-outage.ts';
import { type DeployedThrottled, measureDeployedThrottled, missedGoals } from './deployed-throttled.ts';
import { rampPicture } from './ramp-picture.ts';
import { throttling } from './receivers.ts';

const args = process.argv.slice(2);

type Figures = { ratios: readonly Ratio[]; throttled: readonly Throttled[]; outages: readonly Outage[] };

const messages = { full: { throttled: 600, outage: 5_000 }, short: { throttled: 100, outage: 500 } };

const PICTURE = new URL('../../docs/images/back-pressure.svg', import.meta.url);

/** A full measurement that is kept also draws the picture in the docs. */
async function measure(length: Length, { signal, say }: BenchMeans): Promise<Figures> {
  const throttled: Throttled[] = [];
  for (const receiver of Object.keys(throttling)) {
    signal.throwIfAborted();
    say(`In virtual time: ${receiver}`);
    throttled.push(await measureThrottled(receiver, messages[length].throttled));
  }
  say('In virtual time: an outage');
  const { outage, steps } = await measureOutage(messages[length].outage);
  const isKept = length === 'full' && !args.includes('--dry');
  if (isKept) await writeFile(PICTURE, rampPicture(steps));
  return { ratios: ratiosOf(throttled), throttled, outages: [outage] };
}

const virtual: Bench<Figures> = {
  name: 'back-pressure',
  measure,
  faults: ({ throttled, outages }) => faultsIn(throttled, outages),
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
