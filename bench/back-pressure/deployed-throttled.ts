import type { ReceivedRequest } from '../../test/support/receiver.ts';
import type { BenchMeans, Length } from '../harness/command.ts';
import { startOneSubscriber } from './deployed.ts';

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

const MESSAGES = { full: 600, short: 60 };
const PER_SECOND = 30;
const ALLOWED = 5;
const WINDOW_MS = 1_000;

/** Ends a measurement in which deliveries are lost. */
const LONGEST_MS = 15 * 60_000;

/** For the full length. */
const GOALS = { refusedShare: 0.1, seconds: 150 };

export function missedGoals({ messages, refusedShare, exhausted, seconds }: DeployedThrottled): string[] {
  if (messages < MESSAGES.full) return [];
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
  const messages = MESSAGES[length];
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
  const exhausted = await untilEnded(messages, () => accepted.length, LONGEST_MS);
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
