import type { Environment } from '../support/deliver-on-loopback.ts';
import { modelledSqs } from '../support/modelled-sqs.ts';
import { anSqsRecord } from '../support/sqs-event.ts';

/** The maximum of messages in an invocation (infra/constructs/functions/node-function.ts). */
export const BATCH = 10;

/** `failed`: messages that were not acknowledged. */
export type Invocation = { milliseconds: number; failed: number };

/** A real-time clock. setImmediate makes messages that are sent together visible together. */
const realTime = {
  now: () => Date.now(),
  at: (time: number, callback: () => void): void => {
    if (time <= Date.now()) setImmediate(callback);
    else setTimeout(callback, time - Date.now());
  },
};

/** A queue with all execution environments from the start. Failed messages are counted and not redelivered. */
export function modelledQueue(environments: readonly Environment[], ended: (invocation: Invocation) => void) {
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
  return {
    send: queue.send,
    /** The maximum of concurrent invocations so far. */
    mostBusy: () => mostBusy,
  };
}
