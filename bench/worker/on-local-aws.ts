import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { awsEnvironment, plainEnvironment } from '../../local/local-aws.ts';
import { awsStub } from '../../test/support/aws-stub.ts';
import { runFolder } from '../../test/support/run-folder.ts';
import type { BenchMeans } from '../harness/command.ts';
import { type Deployed, startDeployed } from '../harness/deployed.ts';
import { median } from '../harness/figures.ts';
import { cpuMsOf, cpuMsOfMembers, startWorker } from './processes.ts';
import { countedRequests, type Requests } from './requests.ts';

/** Deliveries at fan-out 1, from the first message published to the last request, with all of AWS on the same machine. */
export type OnLocalAws = {
  deliveries: number;
  rounds: number;
  perSecond: number;
  /** Seconds of processor time for 1,000 deliveries. */
  cpuSeconds: { localAws: number; functionsOrWorker: number; bench: number };
  /** Part of the time in which the local AWS kept a processor busy. It is one process of Python: 1 is its limit. */
  localAwsBusy: number;
};

type Plan = { compute: 'lambda' | 'worker'; rounds: number; deliveries: number };

const QUEUE = 'orders';

/** Messages before the measurement: functions start, and the compiler optimises. */
const WARM_UP = 300;

export async function measureOnLocalAws(
  { compute, rounds, deliveries }: Plan,
  { signal }: Pick<BenchMeans, 'signal'>,
): Promise<OnLocalAws> {
  await using stack = new AsyncDisposableStack();
  const requests = countedRequests();
  const subscriber = await awsStub(
    ({ headers }) => {
      requests.note(String(headers['webhook-id']));
      return { body: 'ok' };
    },
    { keepsRequests: false },
  );
  stack.defer(subscriber.close);
  const folder = join(runFolder('bench-worker'), compute);
  const deployed = await startDeployed(stack, { folder, settings: { compute }, signal });
  await deployed.makeQueue(QUEUE, {});
  await deployed.subscribe(QUEUE, `${subscriber.config.endpoint}/hook`);
  const cpuOfWork =
    compute === 'lambda' ? () => cpuMsOfMembers(deployed.pid) : await workerOn(stack, deployed);
  const run = () => deliver(deployed, requests, deliveries, signal);
  await deliver(deployed, requests, WARM_UP, signal);
  const measured: (Cpu & { ms: number })[] = [];
  while (measured.length < rounds) {
    const before = cpuNow(deployed, cpuOfWork);
    const startedAt = performance.now();
    await run();
    const ms = performance.now() - startedAt;
    const after = cpuNow(deployed, cpuOfWork);
    measured.push({
      ms,
      localAws: after.localAws - before.localAws,
      work: after.work - before.work,
      bench: after.bench - before.bench,
    });
  }
  const perThousand = (value: keyof Cpu): number =>
    median(measured.map((round) => round[value])) / deliveries;
  return {
    deliveries,
    rounds,
    perSecond: median(measured.map(({ ms }) => (deliveries * 1000) / ms)),
    cpuSeconds: {
      localAws: perThousand('localAws'),
      functionsOrWorker: perThousand('work'),
      bench: perThousand('bench'),
    },
    localAwsBusy: median(measured.map(({ ms, localAws }) => localAws / ms)),
  };
}

/** Milliseconds of processor time. */
type Cpu = { localAws: number; work: number; bench: number };

function cpuNow({ pid }: Deployed, work: () => number): Cpu {
  const { user, system } = process.cpuUsage();
  return { localAws: cpuMsOf(pid), work: work(), bench: (user + system) / 1000 };
}

async function workerOn(stack: AsyncDisposableStack, { endpoints }: Deployed): Promise<() => number> {
  const variables = JSON.parse(endpoints.workerEnvironment ?? '{}') as Record<string, string>;
  const { pid } = await startWorker(stack, {
    ...plainEnvironment(),
    ...variables,
    ...awsEnvironment(endpoints.endpoint, endpoints),
  });
  return () => cpuMsOf(pid);
}

async function deliver(
  { publish }: Deployed,
  requests: Requests,
  count: number,
  signal: AbortSignal,
): Promise<void> {
  await publish(
    Array.from({ length: count }, () =>
      JSON.stringify({ queue: QUEUE, id: randomUUID(), data: { note: 'x'.repeat(500) } }),
    ),
  );
  await requests.next(count, signal);
}
