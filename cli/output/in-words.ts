import { inUnits } from '../../shared/domain/duration.ts';

/** Seconds, to the second: 1 d 2 h 3 min 4 s. */
export function inWords(seconds: number): string {
  return inUnits(seconds).join(' ') || '0 s';
}
