import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { Problem } from '../../local/install/problem.mjs';
import { RECEIVE_MAX } from '../../shared/domain/delivery/pull.ts';
import { readCallLog, type CallLogEntry } from '../../test/support/call-log.ts';
import { startReceiver } from '../../test/support/receiver.ts';
import { runFolder } from '../../test/support/run-folder.ts';
import { type Bench, runBench } from '../harness/command.ts';
import { sumOf } from '../harness/figures.ts';
import { startDeployed } from '../harness/deployed.ts';
import { type Compared, compare } from './compare.ts';
import { failuresOf, loads, requestsOf, THRESHOLD_SECONDS, type Load } from './loads.ts';

/**
 * The quantities of `posthaste plan` (cli/commands/plan/quantities.ts) beside those that the functions take. With --short
 * those of the mixed load alone.
 */
const operations: Bench<{ lines: readonly Compared[] }> = {
  name: 'operations',
  measure: async (length, { stack, signal, say }) => {
    const system = await startSystem(stack, signal);
    const lines: Compared[] = [];
    for (const load of loads.filter(({ name }) => length === 'full' || name === 'mixed')) {
      say(`Counting ${load.name}`);
      lines.push(...compare(load, await runLoad(system, load), system.endpoints));
    }
    return { lines };
  },
  faults: ({ lines }) =>
    lines
      .filter(({ isFault }) => isFault)
      .map(({ load, what, off }) => `${load}: ${what}: the plan is ${off} off.`),
  keptIn: 'nowhere',
};

/**
 * Without a cache the reads of lists do not depend on the traffic. With few instances the calls of a large fan-out do not time
 * out on a busy machine, after which SQS would deliver its jobs again.
 */
const settings = {
  subscriptionCacheSeconds: '0',
  schedulerThreshold: String(THRESHOLD_SECONDS),
  deliverConcurrency: '2',
};

type System = Awaited<ReturnType<typeof startSystem>>;

/** The deployed system on a separate local AWS, and a receiver. Both end with the stack. */
async function startSystem(stack: AsyncDisposableStack, signal: AbortSignal) {
  const folder = runFolder('operations');
  const callLog = join(folder, 'calls.jsonl');
  const deployed = await startDeployed(stack, { folder, settings, callLog, signal });
  const receiver = await startReceiver();
  stack.defer(() => receiver.close());
  return { ...deployed, receiver, signal, log: () => readCallLog(callLog) };
}

/** The calls of the functions for one load, while the system does nothing else. */
async function runLoad(system: System, load: Load): Promise<CallLogEntry[]> {
  const { messagesPerDay, fanOut, payloadBytes, pullShare, policy } = load.plan;
  const queue = `operations-${load.name}`;
  await system.makeQueue(queue, policy);
  const ids: string[] = [];
  for (let index = 0; index < fanOut; index += 1) {
    const path = `/${queue}/${index}`;
    const requests = new Map<string, number>();
    system.receiver.script(path, ({ headers }) => {
      const id = String(headers['webhook-id']);
      const before = requests.get(id) ?? 0;
      requests.set(id, before + 1);
      const failures = id.startsWith('m-') ? failuresOf(load, index, Number(id.slice(2))) : 0;
      return before < failures ? { status: 503, body: 'unavailable' } : {};
    });
    ids.push(await system.subscribe(queue, pullShare === 1 ? `pull:${index}` : system.receiver.url(path)));
  }
  const publish = (prefix: string, count: number) => () =>
    system.publish(
      Array.from({ length: count }, (_, index) =>
        // The quotes count as payload.
        JSON.stringify({ queue, id: `${prefix}-${index}`, data: 'x'.repeat(payloadBytes - 2) }),
      ),
    );
  // Functions read secrets and the like only once, so they do it before the count.
  await observed(system, load, 10 * fanOut, publish('first', 10));
  const ask = () => askApi(system, load, ids);
  await ask();
  const attempts = pullShare === 1 ? messagesPerDay * fanOut : requestsOf(load);
  const entries = await observed(system, load, attempts, publish('m', messagesPerDay));
  return [...entries, ...(await observed(system, load, 0, ask))];
}

const received = z.object({ deliveries: z.array(z.object({ receipt: z.string() })) });

/** Receives and acknowledges what waits, and makes the requests of a load to the API. */
async function askApi({ request }: System, { name, plan }: Load, ids: readonly string[]): Promise<void> {
  const queue = `/v2/queues/operations-${name}`;
  for (const id of plan.pullShare === 1 ? ids : [])
    for (let waiting = plan.messagesPerDay; waiting > 0; waiting -= RECEIVE_MAX.default) {
      const path = `${queue}/subscriptions/${id}`;
      const { deliveries } = received.parse(await request('POST', `${path}/receive`));
      for (const { receipt } of deliveries) await request('POST', `${path}/ack`, { receipt });
    }
  for (let asked = 0; asked < plan.apiRequestsPerDay; asked += 1)
    await request('GET', `${queue}/messages/first-0/deliveries/${ids[0]}`);
}

/** The log is complete when nothing was added for this long, longer than any step of a load. */
const QUIET_MS = 2_500;

const PATIENCE_MS = 120_000;

/**
 * The calls of the functions from the start of `work` until there were so many requests to subscribers, or jobs by pull, and
 * the log is complete.
 * @throws Problem when there are fewer in time, or more
 */
async function observed(system: System, { plan }: Load, attempts: number, work: () => Promise<void>) {
  const { receiver, signal, log, endpoints } = system;
  const { dispatch, deliver } = endpoints.functions;
  const [before, from] = [receiver.received().length, log().length];
  // Without reconcile, which runs each minute.
  const runsOf = (...names: string[]) =>
    log()
      .slice(from)
      .filter((entry) => entry.kind === 'invocation')
      .filter((run) => names.includes(run.function));
  const came = (): number =>
    plan.pullShare === 1
      ? sumOf(runsOf(deliver), ({ records }) => records)
      : receiver.received().length - before;
  await work();
  const until = Date.now() + PATIENCE_MS;
  let seen: number;
  do {
    seen = runsOf(dispatch, deliver).length;
    await pause(QUIET_MS, undefined, { signal });
  } while (seen !== runsOf(dispatch, deliver).length || (came() < attempts && Date.now() < until));
  if (came() !== attempts) throw new Problem(`Subscribers got ${came()} requests in place of ${attempts}.`);
  return log().slice(from);
}

process.exitCode = await runBench(operations, process.argv.slice(2));
