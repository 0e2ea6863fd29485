import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { type Played, play, type Seen, type Traffic } from './play.ts';
import {
  downBetween,
  failing,
  FIRST_ANSWERS,
  fixedWindow,
  flapping,
  healthy,
  type Receiver,
  refusing,
  slidingWindow,
  tokenBucket,
  withBadRoute,
} from './receivers.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const ALLOWED = 5;

/** Deliveries of these policies retry a 429. */
const RETRIES_429: PartialRetryPolicy = { retry_on_status: [429] };

/** What a row must reach: a share of what off delivers, the allowed rate, or a quiet outage and a quick end of it. */
type Goal = { kind: 'served'; share: number } | { kind: 'throttled' } | { kind: 'down'; until: number };

export type Row = {
  name: string;
  receiver: () => Receiver;
  policy: PartialRetryPolicy;
  traffic: (scale: number) => readonly Traffic[];
  endsAt: (scale: number) => number;
  goal: Goal;
  /** What is published, which policy holds and when it is measured, in words. */
  plan: string;
};

/** 20 messages a second for ten minutes. Measured a minute after the last one. */
const steady = (scale: number): readonly Traffic[] => [{ messages: 12_000 * scale, perSecond: 20, from: 0 }];
const steadyEnd = (scale: number): number => 10 * MINUTE * scale + MINUTE;

const served = (name: string, receiver: Receiver, share = 0.99): Row => ({
  name,
  receiver: () => receiver,
  policy: RETRIES_429,
  traffic: steady,
  endsAt: steadyEnd,
  goal: { kind: 'served', share },
  plan: '20 messages a second for ten minutes, a 429 is retried; one minute later',
});

/** 30 messages a second for five minutes. Measured until all have ended. */
const throttled = (name: string, receiver: () => Receiver): Row => ({
  name,
  receiver,
  policy: RETRIES_429,
  traffic: (scale) => [{ messages: 9_000 * scale, perSecond: 30, from: 0 }],
  endsAt: () => 120 * MINUTE,
  goal: { kind: 'throttled' },
  plan: '30 messages a second for five minutes, a 429 is retried; at the end of all',
});

/** 5,000 messages spread over an outage of ten minutes. Measured until all have ended. */
const outage = { from: 10 * SECOND, until: 10 * MINUTE + 10 * SECOND };
const down = (name: string, receiver: () => Receiver): Row => ({
  name,
  receiver,
  policy: {},
  traffic: (scale) => [{ messages: 5_000 * scale, perSecond: (5_000 * scale) / 610, from: 0 }],
  endsAt: () => 30 * MINUTE,
  goal: { kind: 'down', until: outage.until },
  plan: '5,000 messages spread over the ten minutes, default policy; at the end of all',
});

/** An hour without traffic in the middle, which begins while the receiver is down. */
const idle: Row = {
  ...down('down, then an hour without traffic', downBetween(10 * SECOND, 20 * MINUTE)),
  traffic: (scale) => [
    { messages: 1_200 * scale, perSecond: 20 * scale, from: 0 },
    { messages: 1_200 * scale, perSecond: 20 * scale, from: 61 * MINUTE },
  ],
  endsAt: () => 70 * MINUTE,
  goal: { kind: 'served', share: 0.99 },
  plan: '20 messages a second in minutes 0 and 61, down until minute 20, default policy; in minute 70',
};

export const ROWS: readonly Row[] = [
  served('healthy', healthy),
  served('0.2 % random 429', refusing(0.002)),
  served('1 % random 429', refusing(0.01)),
  served('5 % random 429', refusing(0.05)),
  served('10 % random 503', failing(0.1)),
  served('20 % random 503', failing(0.2)),
  served('one bad route of ten', withBadRoute),
  served('30 s up, 30 s down', flapping, 0.95),
  throttled('token bucket of 5/s', tokenBucket(ALLOWED)),
  throttled('fixed window of 5/s', fixedWindow(ALLOWED)),
  throttled('sliding window of 5/s', slidingWindow(ALLOWED)),
  down('down', downBetween(outage.from, outage.until)),
  down('down, first answer 429', downBetween(outage.from, outage.until, 'down', FIRST_ANSWERS.refused)),
  down(
    'down, first answer 503 + Retry-After',
    downBetween(outage.from, outage.until, 'down', FIRST_ANSWERS.closed),
  ),
  down('hanging', downBetween(outage.from, outage.until, 'hanging')),
  idle,
];

export const INSTANCES = [1, 10, 100] as const;

/** One run with the switches on, beside one with them off. `isReached`: its goal. */
export type Cell = {
  row: string;
  instances: number;
  figure: string;
  isReached: boolean;
  mostWrites: number;
  lost: number;
};

/** The requests of an outage are compared with those of ten instances. */
const INSTANCES_OFF = 10;

export async function measureRow(row: Row, scale: number): Promise<Cell[]> {
  const messages = row.traffic(scale).reduce((sum, traffic) => sum + traffic.messages, 0);
  const cells: Cell[] = [];
  const outage =
    row.goal.kind === 'down'
      ? await playRow(row, { instances: INSTANCES_OFF, isOn: false, scale })
      : undefined;
  for (const instances of INSTANCES) {
    const on = await playRow(row, { instances, isOn: true, scale });
    const off =
      row.goal.kind === 'served' ? await playRow(row, { instances, isOn: false, scale }) : (outage ?? on);
    const lost = row.goal.kind === 'served' ? 0 : messages - on.delivered;
    cells.push({
      row: row.name,
      instances,
      mostWrites: on.mostWrites,
      lost,
      ...judged(row.goal, { on, off, messages }),
    });
  }
  return cells;
}

function playRow(
  { receiver, policy, traffic, endsAt }: Row,
  { instances, isOn, scale }: { instances: number; isOn: boolean; scale: number },
): Promise<Played> {
  return play({
    receiver: receiver(),
    policy,
    traffic: traffic(scale),
    endsAt: endsAt(scale),
    instances,
    isOn,
  });
}

type Runs = { on: Played; off: Played; messages: number };
type Judged = Pick<Cell, 'figure' | 'isReached'>;

function judged(goal: Goal, runs: Runs): Judged {
  switch (goal.kind) {
    case 'served': {
      const share = runs.on.delivered / runs.off.delivered;
      return { figure: percent(share), isReached: share >= goal.share };
    }
    case 'throttled':
      return judgedThrottled(runs);
    case 'down':
      return judgedOutage(runs, goal.until);
  }
}

const MAX_REFUSED = 0.1;
const LEAST_GOODPUT = 0.85;

function judgedThrottled({ on, messages }: Runs): Judged {
  const refused = refusedShare(on.requests);
  const goodput = messages / ((ALLOWED * lastAt(on.requests)) / SECOND);
  return {
    figure: `${percent(refused)} refused, goodput ${percent(goodput)}`,
    isReached: refused <= MAX_REFUSED && goodput >= LEAST_GOODPUT,
  };
}

const MAX_DURING_OUTAGE = 0.05;
const DRAINED_WITHIN_SECONDS = 120;

function judgedOutage({ on, off }: Runs, until: number): Judged {
  const share = during(on, until) / during(off, until);
  const seconds = (lastAt(on.requests) - until) / SECOND;
  return {
    figure: `${percent(share)} of the requests, all after ${seconds.toFixed(0)} s`,
    isReached: share <= MAX_DURING_OUTAGE && seconds <= DRAINED_WITHIN_SECONDS,
  };
}

const MAX_WRITES = 50;

/** Lost deliveries, and too many writes. A goal that is missed is said in the table. */
export function faultsIn(cells: readonly Cell[]): string[] {
  return cells.flatMap(({ row, instances, lost, mostWrites }) => [
    ...(lost === 0 ? [] : [`${row}, ${instances} instances: ${lost} deliveries were lost.`]),
    ...(mostWrites <= MAX_WRITES
      ? []
      : [`${row}, ${instances} instances: ${mostWrites} writes in a second.`]),
  ]);
}

function refusedShare(requests: readonly Seen[]): number {
  const refused = requests.filter(({ reply }) => reply.kind === 'answered' && reply.statusCode === 429);
  return refused.length / requests.length;
}

function during({ requests }: Played, until: number): number {
  return requests.filter(({ at }) => at < until).length;
}

function lastAt(requests: readonly Seen[]): number {
  return requests.at(-1)?.at ?? 0;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
