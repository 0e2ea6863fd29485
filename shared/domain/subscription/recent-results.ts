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

/** What the last request of a delivery found. `at`: milliseconds since the epoch. */
export type DeliveryResult = { messageId: string; at: number; isFailure: boolean };

/** What a function instance remembers of a subscription's requests. Times are milliseconds since the epoch. */
export type RecentResults = {
  /** Of the subscription that `latest` were sent under (`epochTime`, rate-limit.ts). */
  version: number;
  /** In order. Without pressure, from a failure on until failures are forgotten. */
  latest: readonly DeliveryResult[];
  /** When the last of them were added to the common record. */
  reportedAt: number;
  /** None are added before. */
  quietUntil: number;
  /** Answered requests, each of which counts less as it ages; as of `answeredAt`. */
  answered: number;
  answeredAt: number;
};

/** The result of a delivery's request. `isPressed`: sent under back-pressure. */
type RequestResult = {
  messageId: string;
  signal: PressureSignal;
  now: number;
  version: number;
  isPressed: boolean;
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

/** How often an instance reports while there are enough results, and they do not open the circuit. */
const REPORT_EVERY_MS = 1_000;

/** The results with one more. Late results of requests under an earlier version change nothing. */
export function withResult(
  known: RecentResults | undefined,
  { messageId, signal, now, version, isPressed }: RequestResult,
  rules: CircuitRules,
): RecentResults {
  const before = known ?? NO_RESULTS;
  if (version < before.version) return before;
  const same = version === before.version ? before : { ...before, ...NOTHING_REPORTED, latest: [] };
  const all = latestOf([...same.latest, { messageId, at: now, isFailure: signal === 'down' }], now, rules);
  return {
    ...same,
    version,
    latest: isPressed || all.some(({ isFailure }) => isFailure) ? all : [],
    answered: weightAt(before, now) + (signal === 'up' ? 1 : 0),
    answeredAt: now,
  };
}

const NOTHING_REPORTED = { reportedAt: -Infinity, quietUntil: -Infinity };
const NO_RESULTS: RecentResults = {
  ...NOTHING_REPORTED,
  version: -Infinity,
  latest: [],
  answered: 0,
  answeredAt: 0,
};

/** The last results that decide on the circuit: one of each delivery, in their order, within the window. */
export function latestOf(
  results: readonly DeliveryResult[],
  now: number,
  { circuitRequests, circuitWindowMs }: CircuitRules,
): readonly DeliveryResult[] {
  const inOrder = results.toSorted((one, other) => one.at - other.at);
  const lastOfEach = new Map(inOrder.map((result, index) => [result.messageId, index]));
  return inOrder
    .filter(({ messageId, at }, index) => lastOfEach.get(messageId) === index && at > now - circuitWindowMs)
    .slice(-mostDeciding({ circuitRequests }));
}

/** How many results decide at most. */
export function mostDeciding({ circuitRequests }: Pick<CircuitRules, 'circuitRequests'>): number {
  return 2 * circuitRequests;
}

/** The results to add to the common record after a failure. */
export function unreported(
  { latest, reportedAt, quietUntil }: RecentResults,
  now: number,
): readonly DeliveryResult[] {
  return now < quietUntil ? [] : latest.filter(({ at }) => at >= reportedAt);
}

/** When an instance that got these common results adds to them again. */
export function nextReportAt(
  common: readonly DeliveryResult[],
  now: number,
  { circuitRequests }: CircuitRules,
): number {
  return common.length < circuitRequests ? now : now + REPORT_EVERY_MS;
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
  latest: readonly DeliveryResult[],
  pressure: Pressure | undefined,
  { circuitRequests, circuitFailurePercent }: CircuitRules,
): boolean {
  const failures = latest.filter(({ isFailure }) => isFailure).length;
  const isRamp = pressure?.reason === 'circuit_open';
  if (isRamp && failures === latest.length && failures >= FAILURES_IN_RAMP) return true;
  return latest.length >= circuitRequests && 100 * failures >= circuitFailurePercent * latest.length;
}
