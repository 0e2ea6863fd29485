import { InjectedError, type CallFault, type Fault, type Faults } from './faults.ts';
import type { Actor, History } from './history.ts';
import { partitionOf } from './partition.ts';
import { SECOND } from './scenario.ts';
import type { VirtualClock } from '../support/in-memory/virtual-clock.ts';

/** Wraps a port so that every call takes time and may fail before, after or during its effect. */
export type FaultyPorts = <Port extends object>(name: string, port: Port) => Port;

type Arguments = readonly unknown[];
type Effect = (args: Arguments) => unknown;

/** The course of a call: its effect, its timing, and its result for the caller. */
type Course = {
  beforeMs: number;
  /** Undefined: the call has no effect. */
  args: Arguments | undefined;
  afterMs: number;
  ends: 'answered' | 'failed' | 'crashed';
};

const KILLS: readonly CallFault[] = ['killed_before', 'killed_after'];
const ANY: readonly CallFault[] = ['failed_before', 'failed_after', 'slow', 'throttled', ...KILLS];

/** Calls to subscribers and their authorisation servers, and waiting, cannot fail, but the function may crash during them. */
const KINDS: Partial<Record<string, readonly CallFault[]>> = {
  'subscriber.post': KILLS,
  'accessTokens.tokenFor': KILLS,
  'clock.sleep': KILLS,
  // More slow writes: late records after a takeover are rare otherwise.
  'deliveries.write': [...ANY, 'slow', 'slow', 'slow', 'slow'],
  'chunks.write': [...ANY, 'slow', 'slow', 'slow', 'slow'],
  'deliveryQueue.send': [...ANY, 'sent_in_part', 'sent_in_part'],
};

const USUAL_MS = 20;
/** Longer than an invocation, so that some invocations and leases run out. */
export const SLOWEST_MS = 40 * SECOND;

/**
 * The ports for one actor. A crashed invocation makes no further calls; a call in flight still takes effect, without
 * a response.
 */
export const faultyPorts = (
  actor: Actor,
  world: { time: VirtualClock; faults: Faults; history: History },
): FaultyPorts => {
  const { time, faults, history } = world;
  const { invocation } = actor;
  let calls = 0;

  const call = (method: string, args: Arguments, effect: Effect): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (invocation.hasEnded) return;
      calls += 1;
      const name = `${actor.name}|${calls}:${method}`;
      const fault = faults.strikeCall(name, KINDS[method] ?? ANY, () => partitionOf(method, args));
      note(name, fault);
      const course = courseOf(fault?.kind, args, isWaiting(method) ? 0 : faults.chance(name));
      if (fault?.kind === 'killed_before') kill();
      const end = (result: unknown): void => {
        if (course.ends === 'crashed' && !invocation.hasEnded) kill();
        if (invocation.hasEnded) return;
        if (fault === undefined || course.ends === 'answered') resolve(result);
        // A refused schedule is a regular result of this port.
        else if (method === 'wakeUps.schedule') resolve('refused');
        else reject(new InjectedError(fault));
      };
      later(course.beforeMs, () => {
        const result = course.args === undefined ? undefined : effect(course.args);
        // A late or discarded result may be a rejected promise.
        if (result instanceof Promise) result.catch(() => undefined);
        later(course.afterMs, () => {
          end(result);
        });
      });
    });

  const kill = (): void => {
    invocation.hasEnded = true;
    invocation.killedAt = time.now();
  };

  const note = (name: string, fault: Fault | undefined): void => {
    if (fault !== undefined) invocation.faults.push(fault);
    history.trace?.push(`${time.now()} ${name}${fault === undefined ? '' : ` ** ${fault.kind}`}`);
  };

  const later = (ms: number, callback: () => void): void => {
    if (ms === 0) callback();
    else time.at(time.now() + ms, callback);
  };

  return (portName, port) =>
    new Proxy(port, {
      get: (target, property) => {
        const method: unknown = Reflect.get(target, property);
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) =>
          call(`${portName}.${String(property)}`, args, (given): unknown =>
            Reflect.apply(method, target, given),
          );
      },
    });
};

/** These calls determine their duration themselves. */
const isWaiting = (method: string): boolean => method === 'clock.sleep' || method === 'subscriber.post';

/** `chance`: uniform in [0, 1); sets durations within their bounds. */
const courseOf = (kind: CallFault | undefined, args: Arguments, chance: number): Course => {
  const usual: Course = { beforeMs: Math.ceil(chance * USUAL_MS), args, afterMs: 0, ends: 'answered' };
  switch (kind) {
    case undefined:
      return usual;
    case 'failed_before':
    case 'throttled':
      return { ...usual, args: undefined, ends: 'failed' };
    case 'failed_after':
      return { ...usual, ends: 'failed' };
    case 'slow': {
      // The lower digits of a uniform number are a second, independent one.
      const totalMs = SLOWEST_MS * ((chance * 1_000) % 1);
      return { ...usual, beforeMs: Math.ceil(chance * totalMs), afterMs: Math.ceil((1 - chance) * totalMs) };
    }
    case 'killed_before':
      return { ...usual, args: undefined, ends: 'crashed' };
    case 'killed_after':
      return { ...usual, ends: 'crashed' };
    case 'sent_in_part':
      return { ...usual, args: partOf(args), ends: 'failed' };
  }
};

/** The first half of the batch. */
const partOf = ([batch, ...rest]: Arguments): Arguments => [
  Array.isArray(batch) ? batch.slice(0, Math.ceil(batch.length / 2)) : batch,
  ...rest,
];
