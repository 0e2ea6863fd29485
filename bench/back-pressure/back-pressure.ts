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
import { type DeployedFigures, measureDeployed, missedGoals } from './deployed.ts';
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
const deployed: Bench<DeployedFigures> = {
  name: 'back-pressure',
  measure: measureDeployed,
  faults: missedGoals,
  keptIn: 'nowhere',
};
const others = args.filter((arg) => arg !== '--deployed');
process.exitCode = await (others.length < args.length
  ? runBench(deployed, others)
  : runBench(virtual, others));
