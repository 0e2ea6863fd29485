import type { WakeUp } from '../../../shared/domain/delivery/job.ts';
import type { WakeUps } from '../../../shared/ports/wake-ups.ts';
import type { InMemoryQueue } from './in-memory-queue.ts';
import type { VirtualClock } from './virtual-clock.ts';

type SetSchedule = { name: string; at: number; wakeUp: WakeUp };

export type InMemoryWakeUps = WakeUps & {
  /** All that were set, but for those that were removed before they fired. */
  readonly schedules: readonly SetSchedule[];
};

/** One-shot schedules that fire on time, and are gone then. */
export const inMemoryWakeUps = (
  clock: VirtualClock,
  retryQueue: Pick<InMemoryQueue<WakeUp>, 'send'>,
): InMemoryWakeUps => {
  const schedules: SetSchedule[] = [];
  const pending = new Map<string, SetSchedule>();
  return {
    schedules,
    sendDelayed: (wakeUp, delaySeconds) => {
      retryQueue.send(wakeUp, delaySeconds);
      return Promise.resolve();
    },
    schedule: (name, at, wakeUp) => {
      if (pending.has(name)) return Promise.resolve('scheduled');
      const set = { name, at, wakeUp: structuredClone(wakeUp) };
      schedules.push(set);
      pending.set(name, set);
      clock.at(at, () => {
        if (pending.get(name) !== set) return;
        pending.delete(name);
        retryQueue.send(set.wakeUp);
      });
      return Promise.resolve('scheduled');
    },
    unschedule: (name) => {
      const set = pending.get(name);
      if (set === undefined) return Promise.resolve('absent');
      pending.delete(name);
      schedules.splice(schedules.indexOf(set), 1);
      return Promise.resolve('removed');
    },
  };
};
