import type { Reply } from '../../shared/domain/delivery/outcome.ts';

const SECOND = 1_000;

const ACCEPTED: Reply = { kind: 'answered', statusCode: 200 };
const REFUSED: Reply = { kind: 'answered', statusCode: 429, retryAfter: '2' };
const DOWN: Reply = { kind: 'unanswered', error: 'connection_refused' };

/** How a subscriber answers a request at a time in milliseconds. */
export type Receiver = (now: number) => Reply;

/** Subscribers that allow so many requests a second and answer others with 429 and `Retry-After: 2`. */
export const throttling: Readonly<Record<string, (perSecond: number) => Receiver>> = {
  'fixed window': (perSecond) => {
    const window = { second: 0, requests: 0 };
    return (now) => {
      const second = Math.floor(now / SECOND);
      if (second !== window.second) Object.assign(window, { second, requests: 0 });
      window.requests += 1;
      return window.requests <= perSecond ? ACCEPTED : REFUSED;
    };
  },
  'sliding window': (perSecond) => {
    let accepted: number[] = [];
    return (now) => {
      accepted = accepted.filter((at) => at > now - SECOND);
      if (accepted.length >= perSecond) return REFUSED;
      accepted.push(now);
      return ACCEPTED;
    };
  },
  'token bucket': (perSecond) => {
    let [tokens, filledAt] = [perSecond, 0];
    return (now) => {
      tokens = Math.min(perSecond, tokens + ((now - filledAt) * perSecond) / SECOND);
      filledAt = now;
      if (tokens < 1) return REFUSED;
      tokens -= 1;
      return ACCEPTED;
    };
  },
};

/** Refuses connections for a time. */
export function downBetween(from: number, until: number): Receiver {
  return (now) => (now >= from && now < until ? DOWN : ACCEPTED);
}
