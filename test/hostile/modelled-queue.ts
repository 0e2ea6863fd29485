import type { SQSRecord } from 'aws-lambda';

import { anSqsRecord, type Environment } from '../support/deliver-on-loopback.ts';

/** Messages that Lambda hands to an invocation at most (infra/constructs/functions/node-function.ts). */
export const BATCH = 10;

/** `failed`: messages that would come again. */
export type Invocation = { milliseconds: number; failed: number };

export type ModelledQueue = {
  send: (body: string, delaySeconds?: number) => void;
  /** Invocations under way at the same time, at most so far. */
  mostBusy: () => number;
};

/**
 * An SQS queue and its mapping to the function: a fixed number of execution environments; a free one takes up to ten of the
 * messages that are there, and is free again when the slowest of them has come to its end. What failed is not brought back.
 */
export const modelledQueue = (
  environments: readonly Environment[],
  ended: (invocation: Invocation) => void,
): ModelledQueue => {
  const waiting: SQSRecord[] = [];
  const free = [...environments];
  let mostBusy = 0;

  const handOut = (): void => {
    while (waiting.length > 0) {
      const environment = free.pop();
      if (environment === undefined) return;
      mostBusy = Math.max(mostBusy, environments.length - free.length);
      void invoke(environment, waiting.splice(0, BATCH));
    }
  };

  const invoke = async (environment: Environment, records: readonly SQSRecord[]): Promise<void> => {
    const startedAt = performance.now();
    const { batchItemFailures } = await environment(records);
    ended({ milliseconds: performance.now() - startedAt, failed: batchItemFailures.length });
    free.push(environment);
    handOut();
  };

  return {
    send: (body, delaySeconds = 0) => {
      const arrive = (): void => {
        waiting.push(anSqsRecord(body));
        // Those that were sent together are received together.
        setImmediate(handOut);
      };
      if (delaySeconds === 0) arrive();
      else setTimeout(arrive, delaySeconds * 1000);
    },
    mostBusy: () => mostBusy,
  };
};
