import { MAX_DELAY_SECONDS } from './wake-up-plan.ts';

/** How often operate looks again at a delivery that it could not deal with, before it leaves it alone. */
export const MOST_LOOKS = 5;

const FIRST_SECONDS = 60;

/**
 * Until the next look after so many: a minute, then twice as long each time, so half an hour in all. Reconcile, which makes up
 * for a crash, comes by in less than five minutes, and an outage of half an hour is what everything else outlasts as well.
 */
export const secondsToNextLook = (looks: number): number =>
  Math.min(MAX_DELAY_SECONDS, FIRST_SECONDS * 2 ** looks);
