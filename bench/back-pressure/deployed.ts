import { setTimeout } from 'node:timers/promises';
import * as z from 'zod';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../../test/support/receiver.ts';
import { runFolder } from '../../test/support/run-folder.ts';
import type { BenchMeans, Length } from '../harness/command.ts';
import { startDeployed } from '../harness/deployed.ts';

/** An outage on the local AWS, as the subscriber saw it. */
export type DeployedOutage = {
  messages: number;
  minutes: number;
  requestsDuring: number;
  /** Seconds after the outage. */
  firstSuccess: number;
  drained: number;
  exhausted: number;
  /** Messages that are neither delivered nor exhausted. */
  lost: number;
  /** Requests with a message that had been delivered. */
  duplicates: number;
  /** Requests in each step of ten seconds since the first publish, during the outage and after it. */
  steps: readonly number[];
};

const SECOND = 1_000;
const STEP_MS = 10_000;
const MINUTE = 60 * SECOND;

const MESSAGES = { full: 5_000, short: 500 };
const OUTAGE_MS = { full: 10 * MINUTE, short: MINUTE };

/** Before the outage: then the functions are warm. */
const UP_MS = 10 * SECOND;

/** After the outage. Ends a measurement in which deliveries are lost. */
const LONGEST_MS = 30 * MINUTE;

export function faultsOfOutage({ exhausted, lost }: DeployedOutage): string[] {
  return [
    ...(exhausted > 0 ? [`${exhausted} deliveries are exhausted.`] : []),
    ...(lost > 0 ? [`${lost} deliveries are lost.`] : []),
  ];
}

/** Publishes evenly to a receiver that answers 503 during an outage of the same length, as `measureOutage` does. */
export async function measureDeployedOutage(length: Length, means: BenchMeans): Promise<DeployedOutage> {
  const { signal, say } = means;
  const messages = MESSAGES[length];
  const { receiver, publishEvenly, untilEnded } = await startOneSubscriber(means, {});
  const startedAt = Date.now();
  const [downAt, upAt] = [startedAt + UP_MS, startedAt + UP_MS + OUTAGE_MS[length]];
  const delivered = new Map<string, number>();
  let duplicates = 0;
  receiver.script('/', ({ headers, arrivedAt }) => {
    if (arrivedAt >= downAt && arrivedAt < upAt) return { status: 503 };
    const id = String(headers['webhook-id']);
    if (delivered.has(id)) duplicates += 1;
    else delivered.set(id, arrivedAt);
    return { status: 200 };
  });
  const perSecond = messages / (OUTAGE_MS[length] / SECOND);
  const untilUp = async (): Promise<void> => {
    for (let at = downAt; at <= upAt; at += MINUTE) {
      await setTimeout(Math.max(0, at - Date.now()), undefined, { signal });
      say(`${receiver.received().length} requests`);
    }
  };
  await Promise.all([publishEvenly(messages, perSecond), untilUp()]);
  say('The subscriber is up again.');
  const exhausted = await untilEnded(messages, () => delivered.size, LONGEST_MS);
  const times = receiver.received().map(({ arrivedAt }) => arrivedAt);
  const byStep = Map.groupBy(times, (at) => Math.floor((at - startedAt) / STEP_MS));
  return {
    messages,
    minutes: OUTAGE_MS[length] / MINUTE,
    requestsDuring: times.filter((at) => at >= downAt && at < upAt).length,
    firstSuccess: (Math.min(...times.filter((at) => at >= upAt)) - upAt) / SECOND,
    drained: (Math.max(...delivered.values()) - upAt) / SECOND,
    exhausted,
    lost: messages - delivered.size - exhausted,
    duplicates,
    steps: Array.from({ length: Math.max(...byStep.keys()) + 1 }, (_, step) => byStep.get(step)?.length ?? 0),
  };
}

/** What a receiver that allows 5 requests a second got on the local AWS. */
export type DeployedThrottled = {
  messages: number;
  requests: number;
  /** Answered with 429. */
  refused: number;
  refusedShare: number;
  /** Of the second half of the requests, after the rate is learned. */
  refusedShareLater: number;
  delivered: number;
  exhausted: number;
  /** From the first publish to the last request. */
  seconds: number;
};

const THROTTLED_MESSAGES = { full: 600, short: 60 };
const PER_SECOND = 30;
const ALLOWED = 5;
const WINDOW_MS = 1_000;

/** Ends a measurement in which deliveries are lost. */
const THROTTLED_LONGEST_MS = 15 * 60_000;

/** For the full length. */
const GOALS = { refusedShare: 0.1, seconds: 150 };

export function missedGoals({ messages, refusedShare, exhausted, seconds }: DeployedThrottled): string[] {
  if (messages < THROTTLED_MESSAGES.full) return [];
  return [
    ...(refusedShare > GOALS.refusedShare ? [`${refusedShare * 100} % of the requests were refused.`] : []),
    ...(exhausted > 0 ? [`${exhausted} deliveries are exhausted.`] : []),
    ...(seconds > GOALS.seconds ? [`It took ${seconds} s.`] : []),
  ];
}

/** Publishes 30 messages a second to a receiver that allows 5 and answers 429 with `Retry-After: 2` otherwise. */
export async function measureDeployedThrottled(
  length: Length,
  means: BenchMeans,
): Promise<DeployedThrottled> {
  const messages = THROTTLED_MESSAGES[length];
  const { receiver, publishEvenly, untilEnded } = await startOneSubscriber(means, { retry_on_status: [429] });
  const accepted: ReceivedRequest[] = [];
  receiver.script('/', (request) => {
    const since = request.arrivedAt - WINDOW_MS;
    if (accepted.filter(({ arrivedAt }) => arrivedAt > since).length >= ALLOWED)
      return { status: 429, headers: { 'retry-after': '2' } };
    accepted.push(request);
    return { status: 200 };
  });
  const startedAt = Date.now();
  await publishEvenly(messages, PER_SECOND);
  const exhausted = await untilEnded(messages, () => accepted.length, THROTTLED_LONGEST_MS);
  const requests = receiver.received();
  const taken = new Set(accepted);
  const shareOf = (some: readonly ReceivedRequest[]): number =>
    some.filter((request) => !taken.has(request)).length / some.length;
  return {
    messages,
    requests: requests.length,
    refused: requests.length - accepted.length,
    refusedShare: shareOf(requests),
    refusedShareLater: shareOf(requests.slice(requests.length / 2)),
    delivered: accepted.length,
    exhausted,
    seconds: (Math.max(...requests.map(({ arrivedAt }) => arrivedAt)) - startedAt) / 1_000,
  };
}

const QUEUE = 'paced';

/** How often the deliveries are counted, which loads the local AWS. */
const COUNTED_EVERY_MS = 10 * SECOND;

/** The deployed system with a queue and one subscriber. */
type OneSubscriber = {
  receiver: Receiver;
  /** Publishes `count` messages at an even rate, `m-0` first. Ends with the second of the last one. */
  publishEvenly: (count: number, perSecond: number) => Promise<void>;
  /** Waits until as many deliveries are delivered or exhausted, and returns the number of exhausted ones. */
  untilEnded: (count: number, delivered: () => number, longestMs: number) => Promise<number>;
};

async function startOneSubscriber(
  { stack, signal, say }: BenchMeans,
  policy: PartialRetryPolicy,
): Promise<OneSubscriber> {
  const receiver = await startReceiver();
  stack.defer(() => receiver.close());
  const { endpoints, makeQueue, subscribe, publish } = await startDeployed(stack, {
    folder: runFolder('back-pressure'),
    settings: { adaptToThrottling: 'true', holdWhileDown: 'true' },
    signal,
  });
  await makeQueue(QUEUE, policy);
  await subscribe(QUEUE, receiver.url('/'));

  const countExhausted = async (): Promise<number> => {
    let exhausted = 0;
    let path: string | undefined = `/v2/queues/${QUEUE}/deliveries?status=exhausted&limit=100`;
    while (path !== undefined) {
      const answer = await fetch(`${endpoints.apiUrl}${path}`, { signal });
      const { deliveries, links } = page.parse(await answer.json());
      exhausted += deliveries.length;
      path = links[0]?.href;
    }
    return exhausted;
  };

  return {
    receiver,
    publishEvenly: async (count, perSecond) => {
      const startedAt = Date.now();
      for (let [from, seconds] = [0, 1]; from < count; seconds += 1) {
        const until = Math.min(count, Math.round(seconds * perSecond));
        const numbers = Array.from({ length: until - from }, (_, index) => from + index);
        await publish(
          numbers.map((number) => JSON.stringify({ queue: QUEUE, id: `m-${number}`, data: { number } })),
        );
        from = until;
        await setTimeout(Math.max(0, startedAt + seconds * SECOND - Date.now()), undefined, { signal });
      }
      say(`${count} messages published`);
    },
    untilEnded: async (count, delivered, longestMs) => {
      const deadline = Date.now() + longestMs;
      for (;;) {
        const exhausted = await countExhausted();
        say(`${delivered()} delivered, ${exhausted} exhausted, ${receiver.received().length} requests`);
        if (delivered() + exhausted >= count || Date.now() > deadline) return exhausted;
        await setTimeout(COUNTED_EVERY_MS, undefined, { signal });
      }
    },
  };
}

const page = z.object({
  deliveries: z.array(z.unknown()),
  links: z.array(z.object({ href: z.string() })),
});
