import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { plainEnvironment } from '../../local/local-aws.ts';
import { functionSettings } from '../../shared/config/settings.ts';
import { kindNames } from '../../test/hostile/kinds/all-kinds.ts';
import { startReceivers } from '../../test/hostile/run.ts';
import { aBarePolicy } from '../../test/support/builders.ts';
import type { BenchMeans } from '../harness/command.ts';
import { median } from '../harness/figures.ts';
import { type Counts, startStubAws, type StubAws } from '../harness/stub-aws.ts';
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
export const SUBSCRIBERS = 10;

export async function measureOnStub(
  { rounds, deliveries }: { rounds: number; deliveries: number },
  { signal, say }: Pick<BenchMeans, 'signal' | 'say'>,
): Promise<OnStub> {
  await using stack = new AsyncDisposableStack();
  const stub = await startStubAws(stack, { subscribers: SUBSCRIBERS, longPolls: true });
  const messages = fanOutOne(stub);
  const requests = countedRequests();
  stub.onPost(requests.note);
  const { pid } = await startWorker(stack, { ...plainEnvironment(), ...stub.environment });
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

/** Adds a queue with one subscription. Returns what makes so many messages for it. */
export function fanOutOne({ addQueue }: StubAws): (count: number) => string[] {
  addQueue(QUEUE, 1);
  return (count) =>
    Array.from({ length: count }, () =>
      JSON.stringify({ queue: QUEUE, id: randomUUID(), data: { note: 'x'.repeat(500) } }),
    );
}

/** Resident memory of a worker at the most, after deliveries to every kind of hostile receiver (test/hostile). */
export type ToHostile = { kinds: number; deliveries: number; mostMegabytes: number };

const HOSTILE_QUEUE = 'hostile';

/** Seconds: hostile receivers keep a request until its timeout. */
const ATTEMPT_TIMEOUT = '5';

export async function measureToHostile(
  messages: number,
  { signal }: Pick<BenchMeans, 'signal'>,
): Promise<ToHostile> {
  await using stack = new AsyncDisposableStack();
  const { origins, trustedCertificate } = await startReceivers({ stack, signal }, kindNames);
  const urls = kindNames.flatMap((name) => origins.get(name) ?? []);
  const stub = await startStubAws(stack, { subscribers: 1, longPolls: true });
  stub.addQueue(HOSTILE_QUEUE, urls.length, { urlOf: (index) => urls[index] ?? '', policy: aBarePolicy() });
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const certificate = join(folder, 'trusted.pem');
  await writeFile(certificate, trustedCertificate);
  const env = {
    ...plainEnvironment(),
    ...stub.environment,
    [functionSettings.attemptTimeoutSeconds.variable]: ATTEMPT_TIMEOUT,
    NODE_EXTRA_CA_CERTS: certificate,
  };
  const { pid } = await startWorker(stack, env);
  stub.queues.add(
    'ingress',
    Array.from({ length: messages }, () =>
      JSON.stringify({ queue: HOSTILE_QUEUE, id: randomUUID(), data: { note: 'x'.repeat(500) } }),
    ),
  );
  while (stub.queues.left() > 0) await setTimeout(200, undefined, { signal });
  return {
    kinds: urls.length,
    deliveries: messages * urls.length,
    mostMegabytes: megabytesOf(pid).most,
  };
}
