import { inUnits } from '../../shared/domain/duration.ts';

/** Seconds, to the second: 1 d 2 h 3 min 4 s. */
export const inWords = (seconds: number): string => inUnits(seconds).join(' ') || '0 s';
