import type { Call } from '../../local/call-log.ts';
import { isJoined, requestUnits } from './tally.ts';
import type { Units } from './units.ts';

/**
 * What a function did, had each of its `sends` gone by itself, in one request of 64 KB at most. How many went together
 * depends on how full the batches of the run were; the plan puts them together as full as its own are.
 */
export const sentAlone = (units: Units, calls: readonly Call[], sends: number): Units => {
  const joined = calls.filter((call) => isJoined(call) && !call.repeat);
  const requests = joined.reduce((total, call) => total + requestUnits(call), 0);
  return {
    ...units,
    sendRequests: (units.sendRequests ?? 0) - requests + sends,
    awsCalls: (units.awsCalls ?? 0) - joined.length + sends,
  };
};
