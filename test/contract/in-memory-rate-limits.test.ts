import { inMemoryRateLimits } from '../support/in-memory/in-memory-rate-limits.ts';
import { describeRateLimitsContract } from './rate-limits.contract.ts';

describeRateLimitsContract('in memory', () => {
  const time = { now: 0 };
  return {
    rateLimits: inMemoryRateLimits({ now: () => time.now }),
    setTime: (now) => {
      time.now = now;
    },
  };
});
