import { type BenchMeans, type Length, runBench } from '../harness/command.ts';
import { faultsIn, measureOutage, SERVICES, type OutageFigures } from './measure.ts';

const sizes = {
  full: { minutes: 180, queued: 10_000, retries: 1_000 },
  short: { minutes: 180, queued: 300, retries: 100 },
};

async function measure(
  length: Length,
  { signal, say }: BenchMeans,
): Promise<{ outages: readonly OutageFigures[] }> {
  const outages: OutageFigures[] = [];
  for (const service of Object.keys(SERVICES) as (keyof typeof SERVICES)[])
    for (const fails of ['error', 'timeout'] as const) {
      signal.throwIfAborted();
      say(`In virtual time: three hours without ${service} (${fails})`);
      outages.push(await measureOutage({ service, fails, ...sizes[length] }));
    }
  return { outages };
}

process.exitCode = await runBench(
  { name: 'outage', measure, faults: ({ outages }) => faultsIn(outages) },
  process.argv.slice(2),
);
