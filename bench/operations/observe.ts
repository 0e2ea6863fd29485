import { setTimeout as pause } from 'node:timers/promises';
import type { CallLogEntry } from '../../local/call-log.ts';
import { Problem } from '../../local/install/problem.mjs';
import { pollUntil } from '../../local/poll-until.ts';
import type { System } from './system.ts';

/** The log is whole when nothing was added for this long: longer than any step of a path takes. */
const QUIET_MS = 2_500;

const PATIENCE_MS = 120_000;

const INTERVAL = { floor: 0.1, ceiling: 0.5 };

/**
 * What the functions of the pipeline asked while `work` was done and until the subscribers have got so many more requests.
 * @throws Problem when they have not got them in time, or have got more
 */
export const observed = async (
  system: System,
  requests: number,
  work: () => Promise<void>,
): Promise<CallLogEntry[]> => {
  const { receiver, signal } = system;
  const [before, from] = [receiver.received().length, system.log().length];
  const came = (): number => receiver.received().length - before;
  await work();
  await waitFor(system, requests, before);
  await quiet(system);
  if (came() !== requests)
    throw new Problem(`Subscribers were to get ${requests} requests, and got ${came()}.`);
  signal.throwIfAborted();
  return system.log().slice(from);
};

/** Until subscribers have got so many requests beyond those that they had. */
const waitFor = async ({ receiver, signal }: System, requests: number, before: number): Promise<void> => {
  const came = (): number => receiver.received().length - before;
  const look = () => Promise.resolve(came() >= requests ? true : undefined);
  if ((await pollUntil(look, { withinMs: PATIENCE_MS, interval: INTERVAL, signal })) === undefined)
    throw new Problem(`Of ${requests} requests subscribers got ${came()} in ${PATIENCE_MS / 1000} s.`);
};

/** What reconcile does each minute is no part of it. */
const quiet = async ({ log, endpoints, signal }: System): Promise<void> => {
  const { dispatch, deliver } = endpoints.functions;
  const size = (): number =>
    log().filter((entry) => 'function' in entry && [dispatch, deliver].includes(entry.function)).length;
  let last = -1;
  for (let now = size(); now !== last; now = size()) {
    last = now;
    await pause(QUIET_MS, undefined, { signal });
  }
};
