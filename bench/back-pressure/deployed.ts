import { setTimeout } from 'node:timers/promises';
import * as z from 'zod';
import { type ReceivedRequest, startReceiver } from '../../test/support/receiver.ts';
import { runFolder } from '../../test/support/run-folder.ts';
import type { BenchMeans, Length } from '../harness/command.ts';
import { startDeployed } from '../harness/deployed.ts';

/** What a receiver that allows 5 requests a second got on the local AWS. */
export type DeployedFigures = {
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
const QUEUE = 'throttled';
const WINDOW_MS = 1_000;

/** Ends a measurement in which deliveries are lost. */
const LONGEST_MS = 15 * 60_000;

const statusCounts = z.object({ deliveries: z.array(z.unknown()) });

/** For the full length. */
const GOALS = { refusedShare: 0.1, seconds: 150 };

export function missedGoals({ messages, refusedShare, exhausted, seconds }: DeployedFigures): string[] {
  if (messages < MESSAGES.full) return [];
  return [
    ...(refusedShare > GOALS.refusedShare ? [`${refusedShare * 100} % of the requests were refused.`] : []),
    ...(exhausted > 0 ? [`${exhausted} deliveries are exhausted.`] : []),
    ...(seconds > GOALS.seconds ? [`It took ${seconds} s.`] : []),
  ];
}

/** Publishes 30 messages a second to a receiver that allows 5 and answers 429 with `Retry-After: 2` otherwise. */
export async function measureDeployed(
  length: Length,
  { stack, signal, say }: BenchMeans,
): Promise<DeployedFigures> {
  const messages = MESSAGES[length];
  const receiver = await startReceiver();
  stack.defer(() => receiver.close());
  const accepted: ReceivedRequest[] = [];
  receiver.script('/', (request) => {
    const since = request.arrivedAt - WINDOW_MS;
    if (accepted.filter(({ arrivedAt }) => arrivedAt > since).length >= ALLOWED)
      return { status: 429, headers: { 'retry-after': '2' } };
    accepted.push(request);
    return { status: 200 };
  });
  const folder = runFolder('back-pressure');
  const { endpoints, makeQueue, subscribe, publish } = await startDeployed(stack, {
    folder,
    settings: {},
    signal,
  });
  await makeQueue(QUEUE, { retry_on_status: [429] });
  await subscribe(QUEUE, receiver.url('/'));
  const exhausted = async (): Promise<number> => {
    const url = `${endpoints.apiUrl}/v2/queues/${QUEUE}/deliveries?status=exhausted&limit=100`;
    const answer = await fetch(url, { signal });
    return statusCounts.parse(await answer.json()).deliveries.length;
  };

  const startedAt = Date.now();
  for (let from = 0; from < messages; from += PER_SECOND) {
    const count = Math.min(PER_SECOND, messages - from);
    const bodies = Array.from({ length: count }, (_, index) =>
      JSON.stringify({ queue: QUEUE, id: `m-${from + index}`, data: { number: from + index } }),
    );
    await Promise.all([publish(bodies), setTimeout(1_000, undefined, { signal })]);
  }
  say(`${messages} messages published`);
  let lost = 0;
  while (accepted.length + lost < messages && Date.now() - startedAt < LONGEST_MS) {
    await setTimeout(5_000, undefined, { signal });
    lost = await exhausted();
    say(`${accepted.length} delivered, ${lost} exhausted, ${receiver.received().length} requests`);
  }
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
    exhausted: lost,
    seconds: (Math.max(...requests.map(({ arrivedAt }) => arrivedAt)) - startedAt) / 1_000,
  };
}
