import { randomUUID } from 'node:crypto';
import { plainEnvironment } from '../../local/local-aws.ts';
import type { BenchMeans } from '../harness/command.ts';
import { median } from '../harness/figures.ts';
import { type Counts, startStubAws } from '../harness/stub-aws.ts';
import { cpuMsOf, megabytesOf, startWorker } from './processes.ts';
import { countedRequests } from './requests.ts';

/** Deliveries at fan-out 1 by one worker, on AWS and subscribers that answer at once in the process of the bench. */
export type OnStub = {
  perSecond: number;
  /** Seconds of processor time of the worker for 1,000 deliveries. */
  cpuSeconds: number;
  /** Requests for one delivery: to AWS by operation, and `POST` to the subscriber. */
  calls: Counts;
  /** Resident memory of the worker, after so many deliveries. `mostMegabytes`: since its start. */
  memory: readonly { deliveries: number; megabytes: number; mostMegabytes: number; perSecond: number }[];
};

const QUEUE = 'orders';
const SUBSCRIBERS = 10;

export async function measureOnStub(
  { rounds, deliveries }: { rounds: number; deliveries: number },
  { signal, say }: Pick<BenchMeans, 'signal' | 'say'>,
): Promise<OnStub> {
  await using stack = new AsyncDisposableStack();
  const stub = await startStubAws(stack, { subscribers: SUBSCRIBERS, longPolls: true });
  stub.addQueue(QUEUE, 1);
  const requests = countedRequests();
  stub.onPost(requests.note);
  const pid = startWorker(stack, { ...plainEnvironment(), ...stub.environment });
  const memory: OnStub['memory'][number][] = [];
  const cpuSeconds: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    if (round === rounds) stub.takeCounts();
    const [cpuMs, startedAt] = [cpuMsOf(pid), performance.now()];
    stub.queues.add('ingress', messages(deliveries));
    await requests.next(deliveries, signal);
    const perSecond = (deliveries * 1000) / (performance.now() - startedAt);
    cpuSeconds.push((cpuMsOf(pid) - cpuMs) / deliveries);
    const { now: megabytes, most: mostMegabytes } = megabytesOf(pid);
    memory.push({ deliveries: round * deliveries, megabytes, mostMegabytes, perSecond });
    say(`${round * deliveries} deliveries: ${Math.round(megabytes)} MB, ${Math.round(perSecond)} a second`);
  }
  const counted = Object.entries(stub.takeCounts()).map(([name, count]) => [name, count / deliveries]);
  return {
    perSecond: median(memory.map(({ perSecond }) => perSecond)),
    cpuSeconds: median(cpuSeconds),
    calls: Object.fromEntries(counted) as Counts,
    memory,
  };
}

function messages(count: number): string[] {
  return Array.from({ length: count }, () =>
    JSON.stringify({ queue: QUEUE, id: randomUUID(), data: { note: 'x'.repeat(500) } }),
  );
}
