import { type Bench, type BenchMeans, type Length, runBench } from '../harness/command.ts';
import type { Ratio } from '../harness/figures.ts';
import { measureDeployedOutage } from './deployed.ts';
import { faultsIn, measureOutage, SERVICES, type OutageFigures } from './measure.ts';

type Outages = { ratios: readonly Ratio[]; outages: readonly OutageFigures[] };

const sizes = {
  full: { minutes: 180, queued: 10_000, retries: 1_000 },
  short: { minutes: 180, queued: 300, retries: 100 },
};

async function measure(length: Length, { signal, say }: BenchMeans): Promise<Outages> {
  const outages: OutageFigures[] = [];
  for (const service of Object.keys(SERVICES) as (keyof typeof SERVICES)[])
    for (const fails of ['error', 'timeout'] as const) {
      signal.throwIfAborted();
      say(`In virtual time: three hours without ${service} (${fails})`);
      outages.push(await measureOutage({ service, fails, ...sizes[length] }));
    }
  return { ratios: [], outages };
}

const virtual: Bench<Outages> = {
  name: 'outage',
  measure,
  faults: ({ outages }) => faultsIn(outages),
};

/** With `--deployed`: ten minutes without DynamoDB, on the local AWS. */
const deployed: Bench<OutageFigures> = {
  name: 'outage',
  measure: measureDeployedOutage,
  faults: (figures) => faultsIn([figures]),
  keptIn: 'nowhere',
};

const args = process.argv.slice(2);
const others = args.filter((arg) => arg !== '--deployed');
process.exitCode = args.includes('--deployed')
  ? await runBench(deployed, others)
  : await runBench(virtual, others);
