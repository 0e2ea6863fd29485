import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readCallLog, type CallLogEntry } from '../../local/call-log.ts';
import { clientOf } from '../../local/endpoints.ts';
import { Problem } from '../../local/install/problem.mjs';
import { pollUntil } from '../../local/poll-until.ts';
import { type ReceivedRequest, startReceiver } from '../../test/support/receiver.ts';
import { runFolder } from '../../test/support/run-folder.ts';
import { startDeployed } from '../harness/deployed.ts';
import { sumOf } from '../harness/figures.ts';
import { requestsOf, THRESHOLD_SECONDS, type Path, type PathName } from './steps.ts';

/** Without a cache the reads of lists do not depend on the traffic. */
export const settings = {
  apiAuthorization: 'none',
  subscriptionCacheSeconds: '0',
  schedulerThreshold: String(THRESHOLD_SECONDS),
};

export type System = Awaited<ReturnType<typeof startSystem>>;

/** The deployed system on a separate local AWS, and a receiver. Both end with the stack. */
export async function startSystem(stack: AsyncDisposableStack, signal: AbortSignal) {
  const folder = runFolder('operations');
  const callLog = join(folder, 'calls.jsonl');
  const { subscribe, ...deployed } = await startDeployed(stack, { folder, settings, callLog, signal });
  const receiver = await startReceiver();
  stack.defer(() => receiver.close());
  const { endpoints } = deployed;
  const lambda = new LambdaClient(clientOf(endpoints));
  return {
    ...deployed,
    receiver,
    signal,
    /** All calls since the start. */
    log: () => readCallLog(callLog),
    subscribe: (queue: string, path: string, options?: Record<string, unknown>) =>
      subscribe(queue, receiver.url(path), options),
    reconcile: async (): Promise<void> => {
      await lambda.send(new InvokeCommand({ FunctionName: endpoints.functions.reconcile }));
    },
  };
}

export type PathRun = Path & {
  entries: readonly CallLogEntry[];
  /** Mean bytes of a request to a subscriber without the payload. */
  requestEnvelopeBytes: number;
};

/** @throws Error when the path was not run */
export function ofPath(runs: readonly PathRun[], name: PathName): PathRun {
  const found = runs.find(({ path }) => path === name);
  if (found === undefined) throw new Error(`${name} was not run`);
  return found;
}

/** Between messages that are sent separately, so that each gets an invocation. */
const APART_MS = 300;

/** Runs one path, while the system does nothing else. */
export async function runPath(system: System, path: Path): Promise<PathRun> {
  const { receiver } = system;
  const queue = `operations-${path.path}`;
  await system.makeQueue(queue, path.policy);
  for (let index = 0; index < path.fanOut; index += 1) {
    const failures = path.oneFails === true && index > 0 ? 0 : path.failures;
    receiver.script(
      `/${queue}/${index}`,
      failingFirst(() => failures),
    );
    await system.subscribe(queue, `/${queue}/${index}`);
  }
  // Functions read secrets and the like only once, so they do it before the count.
  const first = { ...path, messages: 10, alone: path.oneFails === true ? 10 : 0 };
  await observed(system, requestsOf(first), () =>
    publishAll(system, bodiesOf(queue, 'first', first), first.alone),
  );
  const from = receiver.received().length;
  const entries = await observed(system, requestsOf(path), () =>
    publishAll(system, bodiesOf(queue, 'm', path), path.alone),
  );
  const requests = receiver.received().slice(from);
  const bytes = sumOf(requests, ({ body, headers }) => body.length + headerBytes(headers));
  return { ...path, entries, requestEnvelopeBytes: bytes / requests.length - path.payloadBytes };
}

/** The script of a subscriber that fails the first requests for a message, by its id. */
export function failingFirst(failuresOf: (id: string) => number) {
  const requests = new Map<string, number>();
  return ({ headers }: Pick<ReceivedRequest, 'headers'>) => {
    const id = String(headers['webhook-id']);
    const before = requests.get(id) ?? 0;
    requests.set(id, before + 1);
    return before < failuresOf(id) ? { status: 503, body: 'unavailable' } : {};
  };
}

async function publishAll(system: System, bodies: readonly string[], alone: number): Promise<void> {
  for (const body of bodies.slice(0, alone)) {
    await system.publish([body]);
    await pause(APART_MS, undefined, { signal: system.signal });
  }
  await system.publish(bodies.slice(alone));
}

export function bodiesOf(
  queue: string,
  prefix: string,
  { messages, payloadBytes }: Pick<Path, 'messages' | 'payloadBytes'>,
): string[] {
  return Array.from({ length: messages }, (_, index) =>
    // The quotes count as payload.
    JSON.stringify({ queue, id: `${prefix}-${index}`, data: 'x'.repeat(payloadBytes - 2) }),
  );
}

/** A line each: name, colon and blank, value, CR and LF. */
function headerBytes(headers: ReceivedRequest['headers']): number {
  return sumOf(Object.entries(headers), ([name, value]) => name.length + String(value).length + 4);
}

/** The log is complete when nothing was added for this long, longer than any step of a path. */
const QUIET_MS = 2_500;

const PATIENCE_MS = 120_000;

const INTERVAL = { floor: 0.1, ceiling: 0.5 };

/**
 * The calls of the functions from the start of `work` until subscribers have got so many requests.
 * @throws Problem when they get fewer in time, or more
 */
export async function observed(
  system: System,
  requests: number,
  work: () => Promise<void>,
): Promise<CallLogEntry[]> {
  const { receiver, signal } = system;
  const [before, from] = [receiver.received().length, system.log().length];
  const came = (): number => receiver.received().length - before;
  await work();
  const look = () => Promise.resolve(came() >= requests || undefined);
  if ((await pollUntil(look, { withinMs: PATIENCE_MS, interval: INTERVAL, signal })) === undefined)
    throw new Problem(`Of ${requests} requests subscribers got ${came()} in ${PATIENCE_MS / 1000} s.`);
  await quiet(system);
  if (came() !== requests) throw new Problem(`Subscribers got ${came()} requests in place of ${requests}.`);
  signal.throwIfAborted();
  return system.log().slice(from);
}

/** Ignores reconcile, which runs each minute. */
async function quiet({ log, endpoints, signal }: System): Promise<void> {
  const { dispatch, deliver } = endpoints.functions;
  const size = (): number =>
    log().filter((entry) => 'function' in entry && [dispatch, deliver].includes(entry.function)).length;
  let last = -1;
  for (let now = size(); now !== last; now = size()) {
    last = now;
    await pause(QUIET_MS, undefined, { signal });
  }
}
