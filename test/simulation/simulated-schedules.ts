import type { WakeUp } from '../../shared/domain/delivery/job.ts';
import type { Faults } from './faults.ts';
import { HOUR, MINUTE } from './scenario.ts';
import type { VirtualClock } from '../support/in-memory/virtual-clock.ts';

export type SimulatedSchedules = {
  /** The due time that the name is taken for, where it is; else sets it. */
  set(name: string, at: number, wakeUp: WakeUp): number | undefined;
  remove(name: string): 'removed' | 'absent';
};

/** EventBridge Scheduler: one-shot, within the minute after its time, gone once it has fired. */
export const simulatedSchedules = (
  time: VirtualClock,
  faults: Faults,
  fire: (wakeUp: WakeUp) => void,
): SimulatedSchedules => {
  const pending = new Map<string, WakeUp>();
  return {
    remove: (name) => (pending.delete(name) ? 'removed' : 'absent'),
    set: (name, at, wakeUp) => {
      const takenFor = pending.get(name);
      if (takenFor !== undefined) return takenFor.dueAt;
      pending.set(name, wakeUp);
      const place = `schedule ${wakeUp.key.messageId}/${wakeUp.key.subscriptionId}/${wakeUp.attempt}`;
      const late = faults.strikeMessage(place, ['schedule_late']) === undefined ? MINUTE : 2 * HOUR;
      time.at(Math.max(at, time.now()) + Math.floor(faults.chance(place) * late), () => {
        // Removed, and perhaps set anew, since.
        if (pending.get(name) !== wakeUp) return;
        pending.delete(name);
        fire(wakeUp);
      });
      return undefined;
    },
  };
};
