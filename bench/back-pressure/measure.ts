import type { Ratio } from '../harness/figures.ts';
import { play, type Played, type Seen } from './play.ts';
import { downBetween, throttling } from './receivers.ts';

const SECOND = 1_000;

const ALLOWED = 5;
const SEEDS = [1, 2, 3];
const OUTAGE = { from: 10 * SECOND, until: 610 * SECOND };

/** Steps of the picture: in each, a ramp doubles. */
export const STEP_MS = 4 * SECOND;

/** 30 messages a second to a subscriber that allows 5. The worst of three runs. */
export type Throttled = {
  receiver: string;
  messages: number;
  refusedShare: number;
  /** Of the second half of the requests. */
  refusedShareLater: number;
  exhausted: number;
  seconds: number;
};

/** An outage of ten minutes in which messages arrive evenly. Seconds count from its end. */
export type Outage = {
  messages: number;
  requestsDuring: number;
  firstSuccess: number;
  drained: number;
  exhausted: number;
  wakeUpsPerMessage: number;
};

/** Requests in each step since the first publish, by whether they were answered. */
export type Steps = readonly { failed: number; answered: number }[];

/** @throws Error when it does not end */
export async function measureThrottled(receiver: string, messages: number): Promise<Throttled> {
  const runs: Played[] = [];
  for (const seed of SEEDS) {
    const limit = throttling[receiver]?.(ALLOWED) ?? (() => ({ kind: 'forbidden' as const }));
    const options = { _retry_policy: { retry_on_status: [429] } };
    runs.push(await play({ messages, perSecond: 30, receiver: limit, options, seed }));
  }
  const worst = (of: (run: Played) => number): number => Math.max(...runs.map(of));
  return {
    receiver,
    messages,
    refusedShare: worst(({ requests }) => refusedShare(requests)),
    refusedShareLater: worst(({ requests }) => refusedShare(requests.slice(requests.length / 2))),
    exhausted: worst(({ delivered }) => messages - delivered),
    seconds: worst(({ requests }) => lastOf(requests) / SECOND),
  };
}

function refusedShare(requests: readonly Seen[]): number {
  const refused = requests.filter(({ reply }) => reply.kind === 'answered' && reply.statusCode === 429);
  return refused.length / requests.length;
}

/** @throws Error when it does not end */
export async function measureOutage(messages: number): Promise<{ outage: Outage; steps: Steps }> {
  const perSecond = messages / ((OUTAGE.until - OUTAGE.from) / SECOND);
  const receiver = downBetween(OUTAGE.from, OUTAGE.until);
  const { requests, delivered, wakeUps } = await play({ messages, perSecond, receiver, seed: 1 });
  const failed = requests.filter(isFailed);
  const firstAfter = requests.find(({ at }) => at >= OUTAGE.until)?.at ?? Infinity;
  return {
    outage: {
      messages,
      requestsDuring: failed.length,
      firstSuccess: (firstAfter - OUTAGE.until) / SECOND,
      drained: (lastOf(requests) - OUTAGE.until) / SECOND,
      exhausted: messages - delivered,
      wakeUpsPerMessage: wakeUps / messages,
    },
    steps: stepsOf(requests),
  };
}

function lastOf(requests: readonly Seen[]): number {
  return requests.at(-1)?.at ?? 0;
}

function isFailed({ reply }: Seen): boolean {
  return reply.kind !== 'answered';
}

function stepsOf(requests: readonly Seen[]): Steps {
  const byStep = Map.groupBy(requests, ({ at }) => Math.floor(at / STEP_MS));
  return Array.from({ length: Math.max(0, ...byStep.keys()) + 1 }, (_, step) => {
    const all = byStep.get(step) ?? [];
    const failed = all.filter(isFailed).length;
    return { failed, answered: all.length - failed };
  });
}

/** Virtual time is the same on every machine. */
const tolerance = 0.05;

export function ratiosOf(throttled: readonly Throttled[]): Ratio[] {
  return throttled.map(({ receiver, messages, seconds }) => ({
    name: `${receiver}: seconds by those at exactly ${ALLOWED} a second`,
    ratio: seconds / (messages / ALLOWED),
    tolerance,
  }));
}

const MOST_REFUSED = 0.1;
const MOST_REFUSED_LATER = 0.02;

/** Lost deliveries, and more refusals than a subscriber should see. */
export function faultsIn(throttled: readonly Throttled[], outages: readonly Outage[]): string[] {
  return [
    ...throttled.flatMap(({ receiver, refusedShare: all, refusedShareLater: later, exhausted }) => [
      ...(exhausted === 0 ? [] : [`${receiver}: ${exhausted} deliveries failed.`]),
      ...(all <= MOST_REFUSED ? [] : [`${receiver}: ${percent(all)} of the requests were refused.`]),
      ...(later <= MOST_REFUSED_LATER ? [] : [`${receiver}: ${percent(later)} were still refused later.`]),
    ]),
    ...outages.flatMap(({ exhausted }) =>
      exhausted === 0 ? [] : [`Outage: ${exhausted} deliveries failed.`],
    ),
  ];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
