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
  latest: readonly DeliveryResult[];
  /** Answered requests, each of which counts less as it ages; as of `answeredAt`. */
  answered: number;
  answeredAt: number;
};

/** The result of a delivery's request. `version`: of the subscription. */
type RequestResult = { messageId: string; signal: PressureSignal; now: number; version: number };

/** When the latest results open a circuit (docs/settings.md). */
export type CircuitRules = {
  circuitRequests: number;
  circuitFailurePercent: number;
  circuitWindowMs: number;
};

/** More count as so many. Bounds the memory that a function instance needs for its results, which are twice as many. */
const MOST_CIRCUIT_REQUESTS = 100;

function enoughToDecide({ circuitRequests }: Pick<CircuitRules, 'circuitRequests'>): number {
  return Math.min(MOST_CIRCUIT_REQUESTS, circuitRequests);
}

/** In a ramp without a success, the failures of so many deliveries open the circuit again. */
const FAILURES_IN_RAMP = 3;

/** Time in which the weight of an answered request falls to 1/e. So long must a subscriber take a rate to get it again. */
const ANSWERED_MS = 10_000;

/** The results with one more. Late results of requests under an earlier version change nothing. */
export function withResult(
  known: RecentResults | undefined,
  { messageId, signal, now, version }: RequestResult,
  rules: CircuitRules,
): RecentResults {
  const before = known ?? { ...NOTHING_SENT, version, answered: 0, answeredAt: now };
  if (version < before.version) return before;
  const same = version === before.version ? before : { ...before, ...NOTHING_SENT, version };
  return {
    ...same,
    latest: latestOf([...same.latest, { messageId, at: now, isFailure: signal === 'down' }], now, rules),
    answered: weightAt(before, now) + (signal === 'up' ? 1 : 0),
    answeredAt: now,
  };
}

const NOTHING_SENT = { latest: [] };

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
export function mostDeciding(rules: Pick<CircuitRules, 'circuitRequests'>): number {
  return 2 * enoughToDecide(rules);
}

function fromFailureOn(latest: readonly DeliveryResult[]): readonly DeliveryResult[] {
  const first = latest.findIndex(({ isFailure }) => isFailure);
  return first === -1 ? [] : latest.slice(first);
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

/**
 * Whether the latest results, each of another delivery, show that the subscriber is down. Without pressure, those since
 * the first failure.
 */
export function isCircuitTripped(
  latest: readonly DeliveryResult[],
  pressure: Pressure | undefined,
  rules: CircuitRules,
): boolean {
  const counted = pressure === undefined ? fromFailureOn(latest) : latest;
  const failures = counted.filter(({ isFailure }) => isFailure).length;
  const isRamp = pressure?.reason === 'circuit_open';
  if (isRamp && failures === counted.length && failures >= FAILURES_IN_RAMP) return true;
  const isEnough = counted.length >= enoughToDecide(rules);
  return isEnough && 100 * failures >= rules.circuitFailurePercent * counted.length;
}
