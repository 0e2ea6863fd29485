import { inMemoryCommonResults } from '../support/in-memory/in-memory-common-results.ts';
import { describeCommonResultsContract } from './common-results.contract.ts';

describeCommonResultsContract('in memory', () => {
  const time = { now: 0 };
  return {
    commonResults: inMemoryCommonResults({ now: () => time.now }),
    setTime: (now) => {
      time.now = now;
    },
  };
});
