import type { CallDeadline } from '../shared/adapters/invocation-deadline.ts';
import { systemClock } from '../shared/adapters/system-clock.ts';

/** What sending and reading again takes of time and chance, in a function. */
export const pacingOf = (deadline: CallDeadline) => ({
  sleep: (milliseconds: number) => systemClock.sleep(milliseconds),
  random: Math.random,
  deadline,
});
