import { setTimeout as pause } from 'node:timers/promises';
import { aBarePolicy } from '../../test/support/builders.ts';
import { callBy, messagesOn, systemAt } from '../../test/chaos/deployed-system.ts';
import { type ReceivedRequest, startReceiver } from '../../test/support/receiver.ts';
import { startRelay } from '../../test/support/relay.ts';
import { runFolder } from '../../test/support/run-folder.ts';
import type { BenchMeans, Length } from '../harness/command.ts';
import { startDeployed } from '../harness/deployed.ts';
import { afterOutage, type OutageFigures } from './measure.ts';

const MINUTE = 60_000;

const sizes = {
  full: { minutes: 10, queued: 1_000, retries: 100 },
  short: { minutes: 1, queued: 100, retries: 10 },
};

/** The goal of the last delivery. */
const WATCHED_MS = 15 * MINUTE;
const LOOK_MS = 10_000;

/** Longer than the first attempts of all that is published before the outage. */
const RETRY_SECONDS = 45;
const SETTLING_MS = 15_000;

/** An outage of DynamoDB for the functions of the pipeline: each call is answered with status 500. */
export async function measureDeployedOutage(
  length: Length,
  { stack, signal, say }: BenchMeans,
): Promise<OutageFigures> {
  const { minutes, queued, retries } = sizes[length];
  const receiver = await startReceiver();
  stack.defer(() => receiver.close());
  const accepted: { id: string; at: number }[] = [];
  const failed = new Set<string>();
  const accept = ({ headers, arrivedAt }: ReceivedRequest): void => {
    accepted.push({ id: String(headers['webhook-id']), at: arrivedAt });
  };
  receiver.script('/before', (request) => {
    const id = String(request.headers['webhook-id']);
    if (failed.has(id)) accept(request);
    const status = failed.has(id) ? 200 : 503;
    failed.add(id);
    return { status };
  });
  receiver.script('/queued', (request) => {
    accept(request);
    return { status: 200 };
  });

  const { endpoints, makeQueue, subscribe, publish } = await startDeployed(stack, {
    folder: runFolder('outage'),
    settings: {},
    signal,
  });
  const system = systemAt(endpoints);
  let isDown = false;
  const relay = await startRelay(endpoints.endpoint, async ({ headers }, forward) =>
    isDown && String(headers['x-amz-target']).startsWith('DynamoDB')
      ? { status: 500, headers: [], body: Buffer.alloc(0) }
      : await forward(),
  );
  stack.defer(() => relay.close());
  await callBy(system, relay.origin);
  const delay = { minimum_delay: RETRY_SECONDS, maximum_delay: RETRY_SECONDS };
  for (const queue of ['before', 'queued']) {
    await makeQueue(queue, aBarePolicy({ minimum_delay_retries: 1, ...delay }));
    await subscribe(queue, receiver.url(`/${queue}`));
  }
  const bodies = (queue: string, count: number): string[] =>
    Array.from({ length: count }, (_, index) =>
      JSON.stringify({ queue, id: `${queue}-${index}`, data: { index } }),
    );

  await publish(bodies('before', retries));
  await pause(SETTLING_MS, undefined, { signal });
  say(`${failed.size} of ${retries} first attempts failed. ${minutes} minutes without DynamoDB begin.`);
  isDown = true;
  const until = Date.now() + minutes * MINUTE;
  await publish(bodies('queued', queued));
  await pause(until - Date.now(), undefined, { signal });
  isDown = false;
  say(`${accepted.length} were delivered in it.`);
  while (Date.now() < until + WATCHED_MS && accepted.length < queued + retries) {
    await pause(LOOK_MS, undefined, { signal });
    say(`${accepted.length} delivered, ${Math.round((Date.now() - until) / 1000)} s after it`);
  }
  const deadLetters = await Promise.all(
    [endpoints.ingressDeadLetterUrl, endpoints.deliveryDeadLetterUrl].map((url) => messagesOn(system, url)),
  );
  return {
    service: 'DynamoDB',
    fails: 'error',
    deadLetters: deadLetters.reduce((sum, one) => sum + one, 0),
    ...afterOutage(accepted, until, queued + retries),
  };
}
