import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readCallLog, type CallLogEntry } from '../../test/support/call-log.ts';
import { Problem } from '../../local/install/problem.mjs';
import { startReceiver } from '../../test/support/receiver.ts';
import { runFolder } from '../../test/support/run-folder.ts';
import { startDeployed } from '../harness/deployed.ts';
import { failuresOf, requestsOf, THRESHOLD_SECONDS, type Load } from './loads.ts';

/** Without a cache the reads of lists do not depend on the traffic. */
const settings = { subscriptionCacheSeconds: '0', schedulerThreshold: String(THRESHOLD_SECONDS) };

type System = Awaited<ReturnType<typeof startSystem>>;

/** The deployed system on a separate local AWS, and a receiver. Both end with the stack. */
export async function startSystem(stack: AsyncDisposableStack, signal: AbortSignal) {
  const folder = runFolder('operations');
  const callLog = join(folder, 'calls.jsonl');
  const deployed = await startDeployed(stack, { folder, settings, callLog, signal });
  const receiver = await startReceiver();
  stack.defer(() => receiver.close());
  return { ...deployed, receiver, signal, log: () => readCallLog(callLog) };
}

/** The calls of the functions for one load, while the system does nothing else. */
export async function runLoad(system: System, load: Load): Promise<CallLogEntry[]> {
  const { name, messages, payloadBytes, subscribers } = load;
  const queue = `operations-${name}`;
  await system.makeQueue(queue, {});
  for (const [index, subscriber] of subscribers.entries()) {
    const path = `/${queue}/${index}`;
    const requests = new Map<string, number>();
    system.receiver.script(path, ({ headers }) => {
      const id = String(headers['webhook-id']);
      const before = requests.get(id) ?? 0;
      requests.set(id, before + 1);
      const failures = id.startsWith('m-') ? failuresOf(subscriber, Number(id.slice(2))) : 0;
      return before < failures ? { status: 503, body: 'unavailable' } : {};
    });
    await system.subscribe(queue, system.receiver.url(path), { _retry_policy: subscriber.policy });
  }
  const publish = (prefix: string, count: number) => () =>
    system.publish(
      Array.from({ length: count }, (_, index) =>
        // The quotes count as payload.
        JSON.stringify({ queue, id: `${prefix}-${index}`, data: 'x'.repeat(payloadBytes - 2) }),
      ),
    );
  // Functions read secrets and the like only once, so they do it before the count.
  await observed(system, 10 * subscribers.length, publish('first', 10));
  return observed(system, requestsOf(load), publish('m', messages));
}

/** The log is complete when nothing was added for this long, longer than any step of a load. */
const QUIET_MS = 2_500;

const PATIENCE_MS = 120_000;

/**
 * The calls of the functions from the start of `work` until subscribers have got so many requests and the log is complete.
 * @throws Problem when they get fewer in time, or more
 */
async function observed(system: System, requests: number, work: () => Promise<void>) {
  const { receiver, signal, log, endpoints } = system;
  const { dispatch, deliver } = endpoints.functions;
  const [before, from] = [receiver.received().length, log().length];
  const came = (): number => receiver.received().length - before;
  // Without reconcile, which runs each minute.
  const runs = (): number =>
    log().filter((entry) => 'function' in entry && [dispatch, deliver].includes(entry.function)).length;
  await work();
  const until = Date.now() + PATIENCE_MS;
  for (let last = -1; last !== runs() || (came() < requests && Date.now() < until);) {
    last = runs();
    await pause(QUIET_MS, undefined, { signal });
  }
  if (came() !== requests) throw new Problem(`Subscribers got ${came()} requests in place of ${requests}.`);
  return log().slice(from);
}
