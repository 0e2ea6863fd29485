import type { VirtualClock } from './in-memory/virtual-clock.ts';

/** Requests a second of an account in a region. */
export type SchedulerQuotas = { createPerSecond: number; invokePerSecond: number };

export type ModelledScheduler<T> = {
  /** `at`: milliseconds since the epoch. A name is free again once its schedule has fired or was deleted. */
  create: (name: string, at: number, input: T) => 'created' | 'conflict' | 'throttled';
  /** The input of a schedule that has not fired. */
  find: (name: string) => T | undefined;
  delete: (name: string) => 'removed' | 'absent';
};

type SchedulerOptions<T> = {
  timeline: Pick<VirtualClock, 'now' | 'at'>;
  /** How long after the time asked for it fires. AWS: at any moment of the minute. */
  lateMs: (input: T) => number;
  fire: (input: T) => void;
  /** @default none */
  quotas?: SchedulerQuotas;
};

const SECOND = 1_000;

/**
 * EventBridge Scheduler, as far as one-time schedules need it.
 *
 * - A schedule fires within 60 seconds after its time: https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
 * - It is deleted after it has fired: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-delete.html
 * - Requests beyond the quota are throttled, and invocations beyond it are put off:
 *   https://docs.aws.amazon.com/scheduler/latest/UserGuide/scheduler-quotas.html
 */
export function modelledScheduler<T>(options: SchedulerOptions<T>): ModelledScheduler<T> {
  const { timeline, quotas } = options;
  const pending = new Map<string, { input: T }>();
  const isWithinQuota = quotaOf(quotas?.createPerSecond ?? Infinity);
  let nextInvocationAt = 0;

  const invoke = (input: T): void => {
    if (quotas === undefined) {
      options.fire(input);
      return;
    }
    const at = Math.max(timeline.now(), nextInvocationAt);
    nextInvocationAt = at + SECOND / quotas.invokePerSecond;
    timeline.at(at, () => {
      options.fire(input);
    });
  };

  return {
    create: (name, at, input) => {
      if (!isWithinQuota(timeline.now())) return 'throttled';
      if (pending.has(name)) return 'conflict';
      const schedule = { input };
      pending.set(name, schedule);
      timeline.at(Math.max(at, timeline.now()) + options.lateMs(input), () => {
        // Deleted, and perhaps created again, since.
        if (pending.get(name) !== schedule) return;
        pending.delete(name);
        invoke(input);
      });
      return 'created';
    },
    find: (name) => pending.get(name)?.input,
    delete: (name) => (pending.delete(name) ? 'removed' : 'absent'),
  };
}

/**
 * At most so many in any second, wherever it begins: stricter than a bucket of tokens, which lets twice as many pass in the
 * second after a rest. Times do not go back.
 */
function quotaOf(perSecond: number): (now: number) => boolean {
  let passed: number[] = [];
  return (now) => {
    if (!Number.isFinite(perSecond)) return true;
    if (passed.length >= perSecond) passed = passed.filter((at) => at > now - SECOND);
    if (passed.length >= perSecond) return false;
    passed.push(now);
    return true;
  };
}
