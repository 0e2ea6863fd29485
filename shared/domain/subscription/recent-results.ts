import { type Reply, TOO_MANY_REQUESTS } from '../delivery/outcome.ts';
import type { Pressure } from './subscription.ts';

/** What a reply says about the subscriber. `up`: it answers requests, even if it refuses this one. */
export type PressureSignal = 'throttled' | 'down' | 'up';

const DOWN_STATUSES: readonly number[] = [502, 503, 504];

/** Undefined: the reply says nothing, such as a DNS or TLS fault. */
export function pressureSignalOf(reply: Reply): PressureSignal | undefined {
  switch (reply.kind) {
    case 'forbidden':
      return undefined;
    case 'unanswered':
      return reply.error === 'timeout' || reply.error === 'connection_refused' ? 'down' : undefined;
    case 'answered': {
      const asksToWait = reply.statusCode === 503 && reply.retryAfter !== undefined;
      if (reply.statusCode === TOO_MANY_REQUESTS || asksToWait) return 'throttled';
      return DOWN_STATUSES.includes(reply.statusCode) ? 'down' : 'up';
    }
  }
}

/** What a function instance remembers of a subscription's requests. Times are milliseconds since the epoch. */
export type RecentResults = {
  /** Of the pressure that `latest` were sent under; undefined: none. */
  version: number | undefined;
  /** Start of the first request under this version. */
  began: number;
  /** The last result of each delivery, in order. Without pressure, from a failure on until failures are forgotten. */
  latest: readonly { messageId: string; at: number; isFailure: boolean }[];
  /** Answered requests, each of which counts less as it ages; as of `answeredAt`. */
  answered: number;
  answeredAt: number;
};

/** The result of a delivery's request. `version`: of the pressure that it was sent under. */
type RequestResult = {
  messageId: string;
  signal: PressureSignal;
  startedAt: number;
  now: number;
  version: number | undefined;
};

/** When the latest results open a circuit (docs/settings.md). */
export type CircuitRules = {
  circuitRequests: number;
  circuitFailurePercent: number;
  circuitWindowMs: number;
};

/** In a ramp without a success, the failures of so many deliveries open the circuit again. */
const FAILURES_IN_RAMP = 3;

/** Time in which the weight of an answered request falls to 1/e. So long must a subscriber take a rate to get it again. */
const ANSWERED_MS = 10_000;

/** The results with one more. Late results of requests under an earlier version change nothing. */
export function withResult(
  known: RecentResults | undefined,
  result: RequestResult,
  rules: CircuitRules,
): RecentResults {
  const { signal, startedAt, now, version } = result;
  const { began, latest, ...answers } = known ?? NO_RESULTS;
  const isSame = version === answers.version;
  if (!isSame && startedAt < began) return { began, latest, ...answers };
  return {
    version,
    began: isSame ? began : startedAt,
    latest: latestWith(isSame ? latest : [], result, rules),
    answered: weightAt(answers, now) + (signal === 'up' ? 1 : 0),
    answeredAt: now,
  };
}

const NO_RESULTS: RecentResults = { version: undefined, began: 0, latest: [], answered: 0, answeredAt: 0 };

function latestWith(
  latest: RecentResults['latest'],
  { messageId, signal, now, version }: RequestResult,
  { circuitRequests, circuitWindowMs }: CircuitRules,
): RecentResults['latest'] {
  const others = latest.filter((one) => one.messageId !== messageId && one.at > now - circuitWindowMs);
  const all = [...others, { messageId, at: now, isFailure: signal === 'down' }];
  const isKept = version !== undefined || all.some(({ isFailure }) => isFailure);
  return isKept ? all.slice(-2 * circuitRequests) : [];
}

function weightAt(
  { answered, answeredAt }: Pick<RecentResults, 'answered' | 'answeredAt'>,
  now: number,
): number {
  // A clock that was set back must not let the rate grow.
  return answered * Math.exp(Math.min(0, answeredAt - now) / ANSWERED_MS);
}

/** Requests a second that the subscriber has lately answered, as far as this instance made them. */
export function answeredPerSecond(results: RecentResults, now: number): number {
  return (1_000 * weightAt(results, now)) / ANSWERED_MS;
}

/** Whether the latest results, each of another delivery, show that the subscriber is down. */
export function isCircuitTripped(
  { version, latest }: RecentResults,
  pressure: Pressure | undefined,
  { circuitRequests, circuitFailurePercent }: CircuitRules,
): boolean {
  if (version !== pressure?.at) return false;
  const failures = latest.filter(({ isFailure }) => isFailure).length;
  const isRamp = pressure?.reason === 'circuit_open';
  if (isRamp && failures === latest.length && failures >= FAILURES_IN_RAMP) return true;
  return latest.length >= circuitRequests && 100 * failures >= circuitFailurePercent * latest.length;
}
