import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../ports/clock.ts';

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (milliseconds) => pause(milliseconds),
};
