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
import { startStubAws } from '../harness/stub-aws.ts';
import { megabytesOf, startWorker } from './processes.ts';

/** Resident memory of a worker at the most, after deliveries to every kind of hostile receiver (test/hostile). */
export type ToHostile = { kinds: number; deliveries: number; mostMegabytes: number };

const QUEUE = 'hostile';

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
  stub.addQueue(QUEUE, urls.length, { urlOf: (index) => urls[index] ?? '', policy: aBarePolicy() });
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
  const pid = startWorker(stack, env);
  stub.queues.add(
    'ingress',
    Array.from({ length: messages }, () =>
      JSON.stringify({ queue: QUEUE, id: randomUUID(), data: { note: 'x'.repeat(500) } }),
    ),
  );
  while (stub.queues.left() > 0) await setTimeout(200, undefined, { signal });
  return {
    kinds: urls.length,
    deliveries: messages * urls.length,
    mostMegabytes: megabytesOf(pid).most,
  };
}
