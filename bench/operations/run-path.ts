import { setTimeout as pause } from 'node:timers/promises';
import type { CallLogEntry } from '../../local/call-log.ts';
import { Problem } from '../../local/install/problem.mjs';
import { pollUntil } from '../../local/poll-until.ts';
import { sumOf } from '../harness/figures.ts';
import { requestsOf, type Path, type PathName } from './paths.ts';
import type { System } from './system.ts';

/** A path as it was run. */
export type PathRun = Path & {
  entries: readonly CallLogEntry[];
  /** Of its requests to subscribers, on average: all bytes but the payload. */
  requestEnvelopeBytes: number;
};

/** @throws when it was not run */
export function ofPath(runs: readonly PathRun[], name: PathName): PathRun {
  const found = runs.find(({ path }) => path === name);
  if (found === undefined) throw new Error(`${name} was not run`);
  return found;
}

/** Between messages that are sent by themselves: each is fetched before the next one comes. */
const APART_MS = 300;

/** One path, alone on the system. */
export async function runPath(system: System, path: Path): Promise<PathRun> {
  const { receiver } = system;
  const queue = `operations-${path.path}`;
  await system.makeQueue(queue, path.policy);
  for (let index = 0; index < path.fanOut; index += 1) {
    const subscriber = `/${queue}/${index}`;
    const failures = path.oneFails === true && index > 0 ? 0 : path.failures;
    receiver.script(
      subscriber,
      failingFirst(() => failures),
    );
    await system.subscribe(queue, subscriber);
  }
  // What a function reads once for all, such as a secret, is read before the count begins.
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

type Request = { headers: Record<string, string | string[] | undefined> };

/** A subscriber that fails so many of the first requests for a message, by its id. */
export function failingFirst(failuresOf: (id: string) => number) {
  const requests = new Map<string, number>();
  return ({ headers }: Request) => {
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

/** A batch of SQS takes 1 MiB; so do ten of the largest. */
export function bodiesOf(
  queue: string,
  prefix: string,
  { messages, payloadBytes }: Pick<Path, 'messages' | 'payloadBytes'>,
): string[] {
  return Array.from({ length: messages }, (_, index) =>
    // With its quotes the data is as long as was asked for.
    JSON.stringify({ queue, id: `${prefix}-${index}`, data: 'x'.repeat(payloadBytes - 2) }),
  );
}

/** A line each: name, colon and blank, value, CR and LF. */
function headerBytes(headers: Request['headers']): number {
  return sumOf(Object.entries(headers), ([name, value]) => name.length + String(value).length + 4);
}

/** The log is whole when nothing was added for this long: longer than any step of a path takes. */
const QUIET_MS = 2_500;

const PATIENCE_MS = 120_000;

const INTERVAL = { floor: 0.1, ceiling: 0.5 };

/**
 * What the functions of the pipeline asked while `work` was done and until the subscribers have got so many more requests.
 * @throws Problem when they have not got them in time, or have got more
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
  const look = () => Promise.resolve(came() >= requests ? true : undefined);
  if ((await pollUntil(look, { withinMs: PATIENCE_MS, interval: INTERVAL, signal })) === undefined)
    throw new Problem(`Of ${requests} requests subscribers got ${came()} in ${PATIENCE_MS / 1000} s.`);
  await quiet(system);
  if (came() !== requests)
    throw new Problem(`Subscribers were to get ${requests} requests, and got ${came()}.`);
  signal.throwIfAborted();
  return system.log().slice(from);
}

/** What reconcile does each minute is no part of it. */
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
