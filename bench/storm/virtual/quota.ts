/** Times that a quota lets pass. */
export type Quota = {
  /** Whether one more may pass now; times do not go back. */
  admits: (now: number) => boolean;
};

const SECOND_MS = 1_000;

/**
 * At most so many in any second, however it is laid: stricter than a bucket of tokens, which lets twice as many pass in the
 * second after a rest.
 */
export const quotaOf = (perSecond: number): Quota => {
  let passed: number[] = [];
  return {
    admits: (now) => {
      if (passed.length >= perSecond) passed = passed.filter((at) => at > now - SECOND_MS);
      if (passed.length >= perSecond) return false;
      passed.push(now);
      return true;
    },
  };
};
