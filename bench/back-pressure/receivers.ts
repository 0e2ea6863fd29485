import type { Reply } from '../../shared/domain/retry/outcome.ts';
import { type Chance } from '../../test/support/chance.ts';
import { tokenBucket as startTokenBucket } from '../harness/token-bucket.ts';

const SECOND = 1_000;

const ACCEPTED: Reply = { kind: 'answered', statusCode: 200 };
const REFUSED: Reply = { kind: 'answered', statusCode: 429 };
const REFUSED_FOR_NOW: Reply = { kind: 'answered', statusCode: 429, retryAfter: '2' };
const FAILED: Reply = { kind: 'answered', statusCode: 503 };
const CLOSED: Reply = { kind: 'answered', statusCode: 503, retryAfter: '5' };
const DOWN: Reply = { kind: 'unanswered', error: 'connection_refused' };
const HANGING: Reply = { kind: 'unanswered', error: 'timeout' };

/** How long a request to a receiver that hangs takes: the attempt timeout of the world. */
export const TIMEOUT_MS = 15 * SECOND;

/** How a receiver answers the request of message `number` at a time in milliseconds. */
export type Receiver = (request: { now: number; number: number }, chance: Chance) => Reply;

export const healthy: Receiver = () => ACCEPTED;

export const refusing =
  (share: number): Receiver =>
  (_, chance) =>
    chance.happens(share) ? REFUSED : ACCEPTED;

export const failing =
  (share: number): Receiver =>
  (_, chance) =>
    chance.happens(share) ? FAILED : ACCEPTED;

/** One message in ten goes to a route that is down. */
export const withBadRoute: Receiver = ({ number }) => (number % 10 === 0 ? FAILED : ACCEPTED);

/** Up for thirty seconds, down for thirty. */
export const flapping: Receiver = ({ now }) => (Math.floor(now / (30 * SECOND)) % 2 === 0 ? ACCEPTED : DOWN);

/** Does not answer for a time, and then with `first` once. */
export const downBetween =
  (
    from: number,
    until: number,
    kind: 'down' | 'hanging' = 'down',
    first: Reply = ACCEPTED,
  ): (() => Receiver) =>
  () => {
    let isFirst = true;
    return ({ now }) => {
      if (now < from) return ACCEPTED;
      if (now < until) return kind === 'down' ? DOWN : HANGING;
      const reply = isFirst ? first : ACCEPTED;
      isFirst = false;
      return reply;
    };
  };

export const FIRST_ANSWERS = { refused: REFUSED, closed: CLOSED };

/** Allows so many requests a second and answers others with 429 and `Retry-After: 2`. */
export const fixedWindow = (perSecond: number) => (): Receiver => {
  const window = { second: 0, requests: 0 };
  return ({ now }) => {
    const second = Math.floor(now / SECOND);
    if (second !== window.second) Object.assign(window, { second, requests: 0 });
    window.requests += 1;
    return window.requests <= perSecond ? ACCEPTED : REFUSED_FOR_NOW;
  };
};

export const slidingWindow = (perSecond: number) => (): Receiver => {
  let accepted: number[] = [];
  return ({ now }) => {
    accepted = accepted.filter((at) => at > now - SECOND);
    if (accepted.length >= perSecond) return REFUSED_FOR_NOW;
    accepted.push(now);
    return ACCEPTED;
  };
};

export const tokenBucket = (perSecond: number) => (): Receiver => {
  const takes = startTokenBucket({ perSecond, burst: perSecond });
  return ({ now }) => (takes(now) ? ACCEPTED : REFUSED_FOR_NOW);
};
