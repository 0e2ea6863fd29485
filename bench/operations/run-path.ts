import { setTimeout as pause } from 'node:timers/promises';
import type { CallLogEntry } from '../../local/call-log.ts';
import { observed } from './observe.ts';
import { requestsOf, type Path, type PathName } from './paths.ts';
import type { System } from './system.ts';

/** A path as it was run. */
export type PathRun = Path & {
  entries: readonly CallLogEntry[];
  /** Of its requests to subscribers, on average: all bytes but the payload. */
  requestEnvelopeBytes: number;
};

/** @throws when it was not run */
export const ofPath = (runs: readonly PathRun[], name: PathName): PathRun => {
  const found = runs.find(({ path }) => path === name);
  if (found === undefined) throw new Error(`${name} was not run`);
  return found;
};

/** Between messages that are sent by themselves: each is fetched before the next one comes. */
const APART_MS = 300;

/** One path, alone on the system. */
export const runPath = async (system: System, path: Path): Promise<PathRun> => {
  const { receiver } = system;
  const queue = `operations-${path.path}`;
  const failed = new Map<string, number>();
  await system.makeQueue(queue, path.policy);
  for (let index = 0; index < path.fanOut; index += 1) {
    const subscriber = `/${queue}/${index}`;
    receiver.script(subscriber, ({ headers }) => {
      const attempt = `${subscriber} ${String(headers['webhook-id'])}`;
      const failures = failed.get(attempt) ?? 0;
      failed.set(attempt, failures + 1);
      return failures < failuresOf(path, index) ? { status: 503, body: 'unavailable' } : {};
    });
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
  const bytes = requests.reduce((total, { body, headers }) => total + body.length + headerBytes(headers), 0);
  return { ...path, entries, requestEnvelopeBytes: bytes / requests.length - path.payloadBytes };
};

/** Of the subscriber with that number. */
const failuresOf = ({ failures, oneFails }: Path, index: number): number =>
  oneFails === true && index > 0 ? 0 : failures;

const publishAll = async (system: System, bodies: readonly string[], alone: number): Promise<void> => {
  for (const body of bodies.slice(0, alone)) {
    await system.publish([body]);
    await pause(APART_MS, undefined, { signal: system.signal });
  }
  await system.publish(bodies.slice(alone));
};

/** A batch of SQS takes 1 MiB; so do ten of the largest. */
export const bodiesOf = (
  queue: string,
  prefix: string,
  { messages, payloadBytes }: Pick<Path, 'messages' | 'payloadBytes'>,
): string[] =>
  Array.from({ length: messages }, (_, index) =>
    // With its quotes the data is as long as was asked for.
    JSON.stringify({ queue, id: `${prefix}-${index}`, data: 'x'.repeat(payloadBytes - 2) }),
  );

/** A line each: name, colon and blank, value, CR and LF. */
const headerBytes = (headers: Record<string, string | string[] | undefined>): number =>
  Object.entries(headers).reduce((total, [name, value]) => total + name.length + String(value).length + 4, 0);
