/**
 * Lets through `perSecond` requests a second, and `burst` at once, as API Gateway limits a route ("Throttle requests to
 * your HTTP APIs", API Gateway developer guide). Times are milliseconds.
 */
export const tokenBucket = ({ perSecond, burst }: { perSecond: number; burst: number }) => {
  let [tokens, filledAt] = [burst, 0];
  return (now: number): boolean => {
    tokens = Math.min(burst, tokens + ((now - filledAt) * perSecond) / 1_000);
    filledAt = now;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
};
