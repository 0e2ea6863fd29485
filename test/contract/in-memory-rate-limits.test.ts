import { inMemoryRateLimits, inMemoryCountingWindows } from '../support/in-memory/in-memory-pace.ts';
import { describeCountingWindowsContract } from './counting-windows.contract.ts';
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

describeCountingWindowsContract('in memory', inMemoryCountingWindows());
