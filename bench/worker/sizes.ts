import { setTimeout } from 'node:timers/promises';
import { builtInPrices, computeCost } from '../../cli/commands/plan/prices.ts';
import { plainEnvironment } from '../../local/local-aws.ts';
import type { BenchMeans } from '../harness/command.ts';
import { median, quantile } from '../harness/figures.ts';
import { shareOnFargate } from '../harness/processor.ts';
import { startStubAws } from '../harness/stub-aws.ts';
import { fanOutOne, SUBSCRIBERS } from './on-stub.ts';
import { cpuMsOf, megabytesOf, startWorker } from './processes.ts';
import { countedRequests } from './requests.ts';

/** A worker with the processor of a Fargate task: deliveries at fan-out 1, on the stub of AWS and of subscribers. */
export type Size = {
  /** 1,024 are a processor. */
  units: number;
  gigabytes: number;
  /** Of deliveries that all wait already. */
  perSecond: number;
  /** Part of its share that the worker took meanwhile. */
  busy: number;
  /** From a message's arrival to its request, at half of that rate. */
  p50Ms: number;
  p99Ms: number;
  /** Resident memory since the start. */
  mostMegabytes: number;
  /** Of Fargate alone, for a million deliveries at that rate: list prices of us-east-1, ARM. */
  usd: number;
  limitedBy: string;
};

/** With the least memory that Fargate has for the units, and that a worker needs (docs/worker.md#speed-and-memory). */
const SIZES = [
  { units: 256, gigabytes: 1 },
  { units: 512, gigabytes: 1 },
  { units: 1_024, gigabytes: 2 },
  { units: 2_048, gigabytes: 4 },
];

/** `seconds`: of the half rate. */
type Plan = { rounds: number; deliveries: number; seconds: number };

export async function measureSizes(plan: Plan, means: Pick<BenchMeans, 'signal' | 'say'>): Promise<Size[]> {
  const measured: Size[] = [];
  for (const size of SIZES) {
    means.say(`${size.units} units`);
    measured.push(await measureSize(size, plan, means));
  }
  return measured;
}

async function measureSize(
  { units, gigabytes }: (typeof SIZES)[number],
  { rounds, deliveries, seconds }: Plan,
  { signal }: Pick<BenchMeans, 'signal'>,
): Promise<Size> {
  await using stack = new AsyncDisposableStack();
  const stub = await startStubAws(stack, { subscribers: SUBSCRIBERS, longPolls: true });
  const messages = fanOutOne(stub);
  const requests = countedRequests();
  const arrivals = new Map<string, number>();
  const waitedMs: number[] = [];
  stub.onPost((id) => {
    const arrival = arrivals.get(id);
    if (arrival !== undefined) waitedMs.push(performance.now() - arrival);
    requests.note(id);
  });
  const share = shareOnFargate(units);
  const { pid, limitedBy } = await startWorker(stack, { ...plainEnvironment(), ...stub.environment }, share);
  const rates: number[] = [];
  const busy: number[] = [];
  // The first round is the warm-up: functions are loaded, and the compiler optimises.
  for (let round = 0; round <= rounds; round += 1) {
    const [cpuMs, startedAt] = [cpuMsOf(pid), performance.now()];
    stub.queues.add('ingress', messages(deliveries));
    await requests.next(deliveries, signal);
    const ms = performance.now() - startedAt;
    if (round === 0) continue;
    rates.push((deliveries * 1000) / ms);
    busy.push((cpuMsOf(pid) - cpuMs) / ms / share.part);
  }
  const perSecond = median(rates);
  const count = Math.ceil((perSecond / 2) * seconds);
  const startedAt = performance.now();
  while (arrivals.size < count) {
    const now = performance.now();
    const due = Math.min(count, Math.ceil(((now - startedAt) / 1000) * (perSecond / 2)));
    const bodies = messages(due - arrivals.size);
    for (const body of bodies) arrivals.set((JSON.parse(body) as { id: string }).id, now);
    stub.queues.add('ingress', bodies);
    await setTimeout(1, undefined, { signal });
  }
  await requests.next(count, signal);
  return {
    ...{ units, gigabytes, perSecond, busy: median(busy) },
    p50Ms: quantile(waitedMs, 0.5),
    p99Ms: quantile(waitedMs, 0.99),
    mostMegabytes: megabytesOf(pid).most,
    usd: usdOfMillion(perSecond, share.part, gigabytes),
    limitedBy,
  };
}

function usdOfMillion(perSecond: number, processors: number, gigabytes: number): number {
  const prices = builtInPrices.regions['us-east-1'];
  const hours = 1e6 / perSecond / 3600;
  return (
    computeCost(prices, 'fargateProcessorHours', hours * processors) +
    computeCost(prices, 'fargateGigabyteHours', hours * gigabytes)
  );
}
