import type { WakeUp } from '../../../shared/domain/delivery/job.ts';
import type { WakeUps } from '../../../shared/ports/wake-ups.ts';
import { modelledScheduler } from '../modelled-scheduler.ts';
import type { ModelledSqs } from '../modelled-sqs.ts';
import type { VirtualClock } from './virtual-clock.ts';

type SetSchedule = { name: string; at: number; wakeUp: WakeUp };

export type InMemoryWakeUps = WakeUps & {
  /** All schedules set, except those removed before they fired. */
  readonly schedules: readonly SetSchedule[];
};

/** Wake-ups in memory. Schedules fire on time. */
export const inMemoryWakeUps = (
  clock: VirtualClock,
  retryQueue: Pick<ModelledSqs<WakeUp>, 'send'>,
): InMemoryWakeUps => {
  const schedules: SetSchedule[] = [];
  const scheduler = modelledScheduler<SetSchedule>({
    timeline: clock,
    lateMs: () => 0,
    fire: ({ wakeUp }) => {
      retryQueue.send(wakeUp);
    },
  });
  return {
    schedules,
    sendDelayed: (wakeUp, delaySeconds) => {
      retryQueue.send(wakeUp, delaySeconds);
      return Promise.resolve();
    },
    schedule: (name, at, wakeUp) => {
      const set = { name, at, wakeUp: structuredClone(wakeUp) };
      if (scheduler.create(name, at, set) === 'created') schedules.push(set);
      return Promise.resolve('scheduled');
    },
    unschedule: (name) => {
      const set = scheduler.find(name);
      if (set !== undefined) schedules.splice(schedules.indexOf(set), 1);
      return Promise.resolve(scheduler.delete(name));
    },
  };
};
