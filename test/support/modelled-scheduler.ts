import type { VirtualClock } from './in-memory/virtual-clock.ts';

/** Requests per second for an account in a region. */
export type SchedulerQuotas = { createPerSecond: number; invokePerSecond: number };

export type ModelledScheduler<T> = ReturnType<typeof modelledScheduler<T>>;

type SchedulerOptions<T> = {
  timeline: Pick<VirtualClock, 'now' | 'at'>;
  /** Delay of the invocation after the requested time. AWS: up to a minute. */
  lateMs: (input: T) => number;
  fire: (input: T) => void;
  /** @default none */
  quotas?: SchedulerQuotas;
};

const SECOND = 1_000;

/**
 * Models EventBridge Scheduler as far as one-time schedules need it.
 *
 * - A schedule fires within 60 seconds after its time: https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
 * - It is deleted after it fires: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-delete.html
 * - Requests beyond the quota are throttled, and invocations beyond it are delayed:
 *   https://docs.aws.amazon.com/scheduler/latest/UserGuide/scheduler-quotas.html
 */
export function modelledScheduler<T>(options: SchedulerOptions<T>) {
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
    /** `at`: milliseconds since the epoch. A name can be used again once its schedule has fired or been deleted. */
    create: (name: string, at: number, input: T) => {
      if (!isWithinQuota(timeline.now())) return 'throttled';
      if (pending.has(name)) return 'conflict';
      const schedule = { input };
      pending.set(name, schedule);
      timeline.at(Math.max(at, timeline.now()) + options.lateMs(input), () => {
        // The schedule was deleted, and perhaps created again, in the meantime.
        if (pending.get(name) !== schedule) return;
        pending.delete(name);
        invoke(input);
      });
      return 'created';
    },
    /** The input of a schedule that has not fired. */
    find: (name: string) => pending.get(name)?.input,
    delete: (name: string): 'removed' | 'absent' => (pending.delete(name) ? 'removed' : 'absent'),
  };
}

/**
 * Allows at most `perSecond` calls in any window of one second: stricter than a token bucket, which lets twice as
 * many pass after an idle second. Times must not decrease.
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
