import { setTimeout } from 'node:timers/promises';
import * as z from 'zod';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { startReceiver, type Receiver } from '../../test/support/receiver.ts';
import { runFolder } from '../../test/support/run-folder.ts';
import type { BenchMeans } from '../harness/command.ts';
import { startDeployed } from '../harness/deployed.ts';

const SECOND = 1_000;
const QUEUE = 'paced';

/** How often the deliveries are counted, which loads the local AWS. */
const COUNTED_EVERY_MS = 10 * SECOND;

/** The deployed system with a queue and one subscriber. */
export type OneSubscriber = {
  receiver: Receiver;
  /** Publishes `count` messages at an even rate, `m-0` first. Ends with the second of the last one. */
  publishEvenly: (count: number, perSecond: number) => Promise<void>;
  /** Waits until as many deliveries are delivered or exhausted, and returns the number of exhausted ones. */
  untilEnded: (count: number, delivered: () => number, longestMs: number) => Promise<number>;
};

export async function startOneSubscriber(
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
