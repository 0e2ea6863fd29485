import { writeFile } from 'node:fs/promises';
import { type BenchMeans, type Length, runBench } from '../harness/command.ts';
import type { Ratio } from '../harness/figures.ts';
import {
  faultsIn,
  measureOutage,
  measureThrottled,
  type Outage,
  ratiosOf,
  type Throttled,
} from './measure.ts';
import { rampPicture } from './ramp-picture.ts';
import { throttling } from './receivers.ts';

type Figures = { ratios: readonly Ratio[]; throttled: readonly Throttled[]; outages: readonly Outage[] };

const messages = { full: { throttled: 600, outage: 5_000 }, short: { throttled: 100, outage: 500 } };

const PICTURE = new URL('../../docs/images/back-pressure.svg', import.meta.url);

/** A full measurement also draws the picture in the docs. */
async function measure(length: Length, { signal, say }: BenchMeans): Promise<Figures> {
  const throttled: Throttled[] = [];
  for (const receiver of Object.keys(throttling)) {
    signal.throwIfAborted();
    say(`In virtual time: ${receiver}`);
    throttled.push(await measureThrottled(receiver, messages[length].throttled));
  }
  say('In virtual time: an outage');
  const { outage, steps } = await measureOutage(messages[length].outage);
  if (length === 'full') await writeFile(PICTURE, rampPicture(steps));
  return { ratios: ratiosOf(throttled), throttled, outages: [outage] };
}

process.exitCode = await runBench(
  {
    name: 'back-pressure',
    measure,
    faults: ({ throttled, outages }) => faultsIn(throttled, outages),
  },
  process.argv.slice(2),
);
