import type { Environment } from '../support/deliver-on-loopback.ts';
import { modelledSqs } from '../support/modelled-sqs.ts';
import { anSqsRecord } from '../support/sqs-event.ts';

/** Messages that Lambda hands to an invocation at most (infra/constructs/functions/node-function.ts). */
export const BATCH = 10;

/** `failed`: messages that would come again. */
export type Invocation = { milliseconds: number; failed: number };

export type ModelledQueue = {
  send: (body: string, delaySeconds?: number) => void;
  /** Invocations under way at the same time, at most so far. */
  mostBusy: () => number;
};

/** Messages that are sent together become visible together. */
const realTime = {
  now: () => Date.now(),
  at: (time: number, callback: () => void): void => {
    if (time <= Date.now()) setImmediate(callback);
    else setTimeout(callback, time - Date.now());
  },
};

/** A queue with all its execution environments from the beginning. What failed is counted, and does not come again. */
export function modelledQueue(
  environments: readonly Environment[],
  ended: (invocation: Invocation) => void,
): ModelledQueue {
  let [busy, mostBusy] = [0, 0];
  const queue = modelledSqs<string>({
    name: 'message',
    timeline: realTime,
    batchSize: BATCH,
    scaling: { first: environments.length, most: environments.length },
    visibilityMs: () => 0,
    consume: async (batch, number) => {
      const startedAt = performance.now();
      busy += 1;
      mostBusy = Math.max(mostBusy, busy);
      const answer = await environments[number]?.(batch.map(({ value }) => anSqsRecord(value)));
      busy -= 1;
      for (const { acknowledge } of batch) acknowledge();
      const failed = answer?.batchItemFailures.length ?? batch.length;
      ended({ milliseconds: performance.now() - startedAt, failed });
    },
  });
  return { send: queue.send, mostBusy: () => mostBusy };
}
